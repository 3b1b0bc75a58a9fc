"""Random templates from a grammar, for differential.py: mostly sensible types, now and then not."""

CONTEXT = {
    "messages": [
        {"role": "system", "content": "  Be nice. "},
        {"role": "user", "content": "Hi <b> & \"you\""},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello\n",
         "tool_calls": [{"id": "c1", "type": "function",
                         "function": {"name": "get_w", "arguments": {"city": "K\u00f6ln", "n": 3, "f": 1.50}}}]},
        {"role": "tool", "content": "{\"t\": 21}", "name": "get_w"},
        {"role": "user", "content": "\u65e5\u672c \u00e9\\n"},
    ],
    "tools": [{"type": "function", "function": {
        "name": "get_w", "description": "Weather.\nOf a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": ["integer", "null"]}},
                       "required": ["city"]}}}],
    "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>",
    "n": 3, "x": 2.5, "k": -7, "s": "abcDEF ghi", "e": "", "t": True, "u": False, "z": None, "l": [3, 1, 2],
    "w": ["b", "A", "c", "a"], "nested": {"a": [1, {"b": None, "c": True}], "d": 1.0, "\u00e9": "\u00fc\t\"\\/"},
    "people": [{"name": "Bo", "age": 30}, {"name": "al", "age": 25}, {"name": "Cy", "age": 30, "x": {"y": [5]}}],
    "u8": "\u00c9t\u00e9 \u00df \ufb01 \u03a3\u0391\u03a3 \U0001f600 \u0130x",
    "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}, {"v": 5, "kids": []}],
    "lines": "one\n  two\n\nthree\r\nfour",
}
NAMES = [k for k in CONTEXT if k not in ("messages", "tools")] + ["q", "missing"]


class Gen:
    """Random templates: mostly sensible types, now and then not."""

    def __init__(self, rng):
        self.r = rng
        self.vars = ["a", "b"]

    def pick(self, *options):
        return self.r.choice(options)

    def expr(self, d=3):
        if d <= 0:
            return self.atom()
        r = self.r.random()
        kinds = [self.str_, self.num, self.seq, self.bool_, self.any_]
        return kinds[int(r * len(kinds))](d)

    def atom(self):
        return self.r.choice([
            self.r.choice(NAMES), self.r.choice(self.vars), repr(self.r.randint(-3, 12)), "1.5", "0.1", "1e20", "1e-7",
            "'x'", "'a b'", "\"it's\"", "''", "true", "false", "none", "[]", "{}", "()", "messages", "tools",
            "messages[0]", "messages[-1].content", "nested.a", "0", "1_000", "0x1f", "100", "2.0"])

    def str_(self, d):
        s = self.pick("s", "u8", "e", "lines", "'a,b,,c'", "' pad '", "messages[2].content", "messages[1]['content']",
                      "'%s'", "'{}'", "'xxaxx'", "'Hello World'", "bos_token", "'12'", "'-3.5'", "'\\n\\t\\\\ \\x41 \\u00e9'",
                      "('' ~ %s)" % self.expr(d - 1))
        for _ in range(self.r.choice([0, 1, 1, 2])):
            s += self.pick(
                ".upper()", ".lower()", ".title()", ".capitalize()", ".strip()", ".strip('ax ')", ".lstrip('x')",
                ".rstrip('\\n')", ".replace('a', 'Z')", ".replace('', '-')", ".replace('a', 'b', 1)", "[1:3]", "[::-1]",
                "[:-2]", "[-1]", "[0]", "[%s:%s:%s]" % (self.idx(), self.idx(), self.pick("", "1", "2", "-1", "-2", "0")),
                ".split(',')[0]", ".split()[-1]", ".split('</think>')[-1]", ".rsplit(' ', 1)[0]", ".split(' ', 1)[-1]",
                ".partition(' ')[2]", ".rpartition('a')[0]", ".join(w)", ".join(['p', 'q'])", ".removeprefix('a')",
                ".removesuffix('c')", ".zfill(12)", ".center(15)", ".center(14, '*')", ".ljust(12, '.')", ".rjust(12)",
                ".swapcase()", ".format(1, 2)", "|upper", "|lower", "|title", "|capitalize", "|trim", "|trim('a')",
                "|replace('a', 'b')", "|replace('b', 7)", "|truncate(9)", "|truncate(9, true)", "|truncate(9, false, '~', 0)",
                "|indent", "|indent(2, true)", "|indent('> ', blank=true)", "|center(20)", "|reverse", "|string",
                "|safe", "|e", "|escape|upper", "|urlencode", "|forceescape", "|default('d')", "|default('d', true)", "|d",
                "|format(1, 'z')", "|first", "|last", "|tojson", ".splitlines()|join('/')", "|list|join('.')",
                "|replace('a', 'b', count=1)", ".expand", "|join('-')", "|map('upper')|join", "|sort|join",
                "|unique|join", "|batch(3)|list|string", "|wordcount", "|length", "|int", "|float", "|int(-1)",
                "|int(base=16)", "|float(9)", ".casefold()", ".expandtabs(4)", ".isidentifier()", ".isdigit()", ".isupper()",
                ".istitle()", ".startswith(('a', ' '))", ".endswith('\n')", ".find('a', 1)", ".rindex('a')", ".count('')",
                "|wordwrap(7)", "|wordwrap(5, false)", "|wordwrap(4, wrapstring='|')", "|filesizeformat", "[%s]" % self.idx(),
                "|map('string')|list", "|list|unique|join", "|slice(3)|list", "|indent(width=3, first=true, blank=true)",
                "|truncate(length=12, end='')", "|replace(old='a', new='~')", "|center(width=9)", "|attr('upper')()", "|trim(chars='x')",
                "[%s:][:%s]" % (self.idx(), self.idx()), ".strip(none)", ".split(none, 1)|last", ".splitlines(true)|list",
                ".join({'k': 1})", ".format_map({'a': 5})", " * 3", " * n", " % 5", " % (1, 2)", "|items|list", "|dictsort", "|sum",
                "|max", "|min", "|abs", "|round", "|groupby(0)|list|length", "|select('eq', 'a')|join", "|reject('in', 'abc')|join")
        return s

    def idx(self):
        return self.pick("", "", "0", "1", "-1", "2", "-3", "n", "99", "-99")

    def num(self, d):
        r = self.r.random()
        if r < 0.05: # small exponents: Python would compute the others for hours
            return "(%s ** %s)" % (self.pick("n", "x", "2", "k", "10", "0", "-1.5", "t"), self.pick("2", "3", "-1", "0.5", "0", "t"))
        if r < 0.5:
            return "(%s %s %s)" % (self.num(d - 1) if d > 0 else self.atom(), self.pick("+", "-", "*", "/", "//", "%"),
                                   self.num(d - 1) if d > 0 else self.pick("2", "3", "n", "k", "x", "0.5", "-2", "7"))
        if r < 0.6:
            return "-" + self.pick("n", "x", "k", "2 ** 2", "(1 + 1)", "t")
        return self.pick("n", "x", "k", "7", "2.5", "l|sum", "l|max", "l|min", "l|length", "s|length", "x|round", "k|abs",
                         "x|round(1)", "2.675|round(2)", "1234.5|round(-2)", "25|round(-1)", "35|round(-1)", "x|int", "x|round(0, 'ceil')", "k|round(0, 'floor')",
                         "people|sum('age')", "people|map(attribute='age')|sum", "'7'|int", "s.find('c')", "s.count('a')",
                         "l.index(1)", "w|count", "people[0].age", "nested.d", "s.index('D')", "s.rfind('g', 2)", "l.count(3)",
                         "u8|length", "range(5)|sum", "0.1 + 0.2", "1e16", "123456789012345678", "t", "n.bit_length()", "n.conjugate()", "x.is_integer()", "n.real", "range(9).index(4)", "x|filesizeformat", "10 // 4", "-7 // 2", "-7 % 3", "7 % -3",
                         "7.5 % -2", "-7.5 // 2", "3.0", "1e22", "1.0e-5")

    def seq(self, d):
        s = self.pick("l", "w", "people", "messages", "[1, 2, 3]", "[3, 'a', none]", "(1, 2)", "range(5)", "range(1, 10, 3)",
                      "range(5, 0, -2)", "nested", "nested.keys()", "nested.values()", "nested.items()", "{'a': 1, 'b': 2}",
                      "s.split()", "[%s, %s]" % (self.expr(d - 1), self.expr(d - 2)), "(%s,)" % self.expr(d - 2),
                      "{'k': %s, 2: %s}" % (self.expr(d - 2), self.expr(d - 2)), "dict(a=1, b=[2])", "[[1, 2], [3]]", "tools",
                      "missing", "lines.splitlines()", "lines.splitlines(true)", "dict([('a', 1)], z=2)", "'abc'", "dict.fromkeys(w, 1)", "tree", "tree[0].kids", "nested.a[1]", "[none, true, 1.5]", "(l, w)")
        for _ in range(self.r.choice([0, 1, 1, 2])):
            s += self.pick(
                "|list", "|sort", "|sort(reverse=true)|list", "|reverse|list", "[::-1]", "[1:]", "[:2]", "[-1]", "|first",
                "|last", "|join(', ')", "|length", "|map('string')|list", "|map('upper')|join(' ')", "|select('odd')|list",
                "|reject('none')|list", "|select|list", "|selectattr('age')|list|length", "|map(attribute='name')|join('+')",
                "|selectattr('age', 'equalto', 30)|map(attribute='name')|list", "|rejectattr('role', 'eq', 'user')|list|length",
                "|sort(attribute='name')|map(attribute='name')|list", "|sort(attribute='age,name')|map(attribute='name')|join",
                "|groupby('age')|map('first')|list", "|groupby('age')|map(attribute='list')|map('length')|list", "|unique|list",
                "|batch(2)|list", "|batch(2, 'f')|list", "|slice(2)|list", "|slice(3, '-')|list", "|items|list", "|dictsort",
                "|dictsort(true, 'value')", "|dictsort(reverse=true)", "|tojson", "|tojson(indent=2)", "|tojson(indent=1, sort_keys=true)",
                "|tojson(separators=(',', ':'))", "|tojson(ensure_ascii=true)", "|string", "|max", "|min", "|sum", "|random_",
                "|map('default', 'D')|list", "|map(attribute='x.y.0', default='?')|list", "|map('length')|list", "|count",
                "|map('int')|sum", "|select('in', [1, 2])|list", "|select('greaterthan', 1)|list", "|reject('string')|list",
                ".items()|list", ".keys()|list", ".get('a')", ".get('zz', 'dflt')", " + [9]", " * 2", "|list + l", "[0]", "['a']",
                ".a", "|first|string", "|map('join', '-')|list", "|map('first')|list", "|default([])", "|max(attribute='age')",
                "|min(attribute='name')", "|sum(attribute='age')", "|sum(start=10)", "|join(attribute='name')", "|attr('keys')|string|length",
                "|map('tojson')|join", "|map('trim')|list|length", "|select('mapping')|list|length", "|join('|', 'role')",
                "|reverse|first", "|list|last", "|unique(case_sensitive=true)|list", "|sort(case_sensitive=true)|list", "|float", "|int", "|abs", "|map(attribute=0)|list", "|map('replace', 'a', 'b')|list",
                "|map('center', 6)|list", "|map('sort')|list", "|map('first')|map('string')|join", "|selectattr('age', 'gt', 26)|list",
                "|rejectattr('x')|list", "|selectattr('kids')|map(attribute='v')|list", "|groupby('role')|list|length",
                "|groupby('v', default='?')|map('first')|list", "|sort(attribute='v', reverse=true)|map(attribute='v')|list",
                "|unique(attribute='age')|map(attribute='name')|list", "|dictsort(by='value')", "|dictsort(by='zz')", "|tojson(indent='->')",
                "|tojson(2)", "|tojson(separators=[';', '='])", "|batch(linecount=2, fill_with=0)|list", "|slice(0)|list", "|sum(start=[])",
                "|map('format', 1)|list", "|select('callable')|list", "|list|tojson(sort_keys=true)", ".keys().isdisjoint(w)", ".copy()",
                ".count(1)", ".index(1)", "|max(case_sensitive=true)", "|min(attribute='v')", "|join(n)", "|xmlattr", "|last|last", "|first|first",
                "|urlencode", "|wordcount", "|string|wordwrap(9)", "|list|reverse|list", "|items|map('last')|list", "|random_", "|length > 1")
        return s

    def bool_(self, d):
        r = self.r.random()
        a, b = self.expr(d - 1), self.expr(d - 1)
        if r < 0.3:
            return "(%s %s %s)" % (a, self.pick("==", "!=", "<", ">", "<=", ">=", "in", "not in"), b)
        if r < 0.4:
            return "(%s < %s <= %s)" % (self.num(1), self.num(1), self.num(1))
        if r < 0.7:
            return "(%s is %s%s)" % (a, self.pick("", "", "not "), self.pick(
                "defined", "undefined", "none", "string", "number", "mapping", "iterable", "sequence", "boolean", "true",
                "false", "integer", "float", "odd", "even", "divisibleby 3", "lower", "upper", "callable", "sameas true",
                "sameas none", "in [1, 2, 'x']", "in(s)", "eq 3", "equalto('x')", "ne 3", "gt 2", "lessthan(4)", "escaped",
                "filter", "test", "ge 1", "le(2)", "lt 2"))
        if r < 0.85:
            return "(%s %s %s)" % (a, self.pick("and", "or"), b)
        return "(not %s)" % a

    def any_(self, d):
        r = self.r.random()
        if r < 0.25:
            return "(%s if %s%s)" % (self.expr(d - 1), self.expr(d - 1), self.pick("", " else " + self.expr(d - 1)))
        if r < 0.45:
            return "(%s ~ %s ~ %s)" % (self.expr(d - 1), self.expr(d - 2), self.atom())
        if r < 0.6:
            return "(%s + %s)" % (self.expr(d - 1), self.expr(d - 1))
        if r < 0.7:
            return "(%s)[%s]" % (self.expr(d - 1), self.expr(d - 2))
        if r < 0.8:
            return "(%s).%s" % (self.expr(d - 1), self.pick("a", "name", "content", "items", "upper", "role", "x", "0", "_p", "append"))
        if r < 0.9:
            return "(%s %% %s)" % (self.pick("'%s'", "'%d'", "'%5.2f|'", "'%s %s'", "'%-5s|'", "'%05d'", "'%x'", "'%r'", "'%(a)s'",
                                            "'%%'", "'%c'", "'%+d'", "'%e'", "'%g'", "'%.3s'", "'%i'", "'%#x'", "'% d'"),
                                   self.pick(self.expr(d - 2), "(1, 2)", "('a', 'b')", "{'a': 5}", "n", "x", "s", "(n,)"))
        return "%s.format(%s)" % (self.pick("'{}'", "'{0}{0}'", "'{a}'", "'{:>6}|'", "'{:.2f}'", "'{:05d}'", "'{!r}'", "'{:^9}|'",
                                            "'{0[0]}'", "'{0.role}'", "'{:,}'", "'{:x}'", "'{{}}'", "'{:+}'", "'{:*<5}'", "'{:%}'", "'{:e}'"),
                                  self.pick(self.expr(d - 2), "a=" + self.atom(), "n", "x", "s", "messages[0]", "k", "12345.678", "1234567"))

    def ws(self):
        return self.pick("", "", "", " ", "\n", "\n  ", "  \n", "x", " y ", "\t", "\n\n", "\r\n")

    def tag(self, inner):
        return "{%" + self.pick("", "", "-", "+") + " " + inner + " " + self.pick("", "", "-", "+") + "%}"

    def out(self, d):
        return "{{" + self.pick("", "", "-") + " " + self.expr(d) + " " + self.pick("", "", "-") + "}}"

    def body(self, d, loop=False):
        return "".join(self.ws() + self.stmt(d, loop) + self.ws() for _ in range(self.r.choice([1, 1, 2, 3])))

    def stmt(self, d, loop):
        if d <= 0:
            return self.out(1)
        k = self.r.randrange(21)
        v = self.r.choice(self.vars)
        if k < 4:
            return self.out(self.r.choice([1, 2, 3]))
        if k < 6:
            s = self.tag("if " + self.expr(2)) + self.body(d - 1, loop)
            if self.r.random() < 0.4:
                s += self.tag("elif " + self.expr(1)) + self.body(d - 1, loop)
            if self.r.random() < 0.5:
                s += self.tag("else") + self.body(d - 1, loop)
            return s + self.tag("endif")
        if k < 9:
            target, over = self.pick(("i", self.seq(1)), ("m", "messages"), ("i", "l"), ("i", "range(4)"), ("kk, v", "nested.items()"),
                                     ("kk, v", "[(1, 2), (3, 4)]"), ("i", "l|map('string')"), ("c", "s"))
            old = list(self.vars)
            self.vars += target.split(", ") + ["loop.index", "loop.first", "loop.last", "loop.length", "loop.previtem",
                                                "loop.nextitem", "loop.revindex", "loop.index0", "loop.depth",
                                                "loop.cycle('p', 'q')", "loop.changed(%s)" % target.split(",")[0], "loop.revindex0"]
            s = self.tag("for %s in %s%s%s" % (target, over, self.pick("", "", " if " + self.expr(1)),
                                                self.pick("", "", "", " recursive"))) + self.body(d - 1, True)
            self.vars = old
            if self.r.random() < 0.25:
                s += self.tag("else") + self.body(d - 1, loop)
            return s + self.tag("endfor")
        if k < 11:
            return self.tag("set %s = %s" % (v, self.expr(2)))
        if k == 11:
            return self.tag("set %s%s" % (v, self.pick("", "", " | upper", " | trim | replace('a', 'b')"))) + \
                self.body(d - 1, loop) + self.tag("endset")
        if k == 12:
            return self.tag("set ns = namespace(a=%s)" % self.expr(1)) + self.body(d - 1, loop) + \
                self.tag("set ns.%s = %s" % (self.pick("a", "b"), self.expr(1))) + self.pick("{{ ns.a }}", "{{ ns.b }}", "{{ ns }}")
        if k == 13:
            f = self.pick("f", "g")
            old = list(self.vars)
            self.vars += ["p", "r", "varargs", "kwargs", "caller()"]
            s = self.tag("macro %s(p, r=%s)" % (f, self.expr(1))) + self.body(d - 1) + self.tag("endmacro")
            self.vars = old
            call = "%s(%s)" % (f, self.pick("1", "1, 2", "p=3", "1, r=2", "", "1, 2, 3", "1, zz=4", "*l", "**{'p': 1}"))
            if self.r.random() < 0.3:
                return s + self.tag("call" + self.pick("", "(o)") + " " + call) + self.body(d - 1) + self.tag("endcall")
            return s + "{{ " + call + self.pick("", "|upper", "|length") + " }}"
        if k == 14:
            return self.tag("with %s = %s" % (v, self.expr(1))) + self.body(d - 1, loop) + self.tag("endwith")
        if k == 15:
            return self.tag("filter " + self.pick("upper", "trim", "replace('a', 'b')", "indent(2)", "title|trim", "wordwrap(9)", "truncate(9)", "upper|length")) + \
                self.body(d - 1, loop) + self.tag("endfilter")
        if k == 16:
            return self.pick("{# c #}", "{#- c -#}", "  {# c #}\n", "{% raw %}{{ x }}{% endraw %}", "\n  {%- raw -%} {% z %} {%- endraw %}\n",
                             self.tag("generation") + self.body(d - 1) + self.tag("endgeneration"), "{#+ x +#}\n",
                             "{% print n %}", "{% print n, s %}", "{% set a, b = 1, 2 %}", "{% set a, b = s %}",
                             "{{ raise_exception('no') }}" if self.r.random() < 0.1 else "z")
        if k == 18:
            return self.tag("for q in tree" + self.pick("", " if q.v != 3") + " recursive") + "{{ q.v }}" + self.pick(
                "", "{{ loop.depth }}", "{{ loop.depth0 }}", "{{ loop.index }}/{{ loop.length }}", "{{ loop.changed(q.kids) }}") + \
                self.pick("({{ loop(q.kids) }})", "{{ loop(q.kids)|upper }}", "{% if q.kids %}[{{ loop(q.kids) }}]{% endif %}",
                          "{{ loop(q.kids|reverse) }}", "{% set x = loop(q.kids) %}{{ x ~ x }}") + \
                self.pick("", self.tag("else") + self.body(d - 1)) + self.tag("endfor")
        if k == 19:
            return self.tag("macro h(" + self.pick("", "a", "a, b", "a, b=1", "a=n, b=a", "a, b=caller") + ")") + self.body(d - 1) + \
                self.pick("", "{{ caller() if caller else '-' }}", "{{ caller(1, 2) }}", "{{ varargs }}", "{{ kwargs }}", "{{ h.name }}") + \
                self.tag("endmacro") + self.pick(
                    "{{ h(1) }}", "{{ h(1, 2) }}", "{{ h(b=2, a=1) }}", "{{ h() ~ h(3) }}", "{{ h(*l) }}", "{{ h(**{'a': s}) }}",
                    "{% call h(1) %}C{% endcall %}", "{% call(u, v) h(1) %}{{ u }}{{ v }}{% endcall %}", "{% set m = h %}{{ m(4) }}",
                    "{{ h.arguments }}{{ h.catch_kwargs }}{{ h.catch_varargs }}{{ h.caller }}", "{{ [1, 2]|map('string')|map(h)|list }}")
        if k == 20:
            return "{% set c = cycler('x', 'y') %}{% set j = joiner('; ') %}{% for i in l %}{{ j() }}{{ c.next() }}" + self.pick(
                "", "{{ c.current }}", "{{ c.reset() }}", "{{ loop.cycle(*w) }}", "{{ loop.previtem|default('-') }}{{ loop.nextitem }}",
                "{{ loop.length - loop.revindex }}", "{% if loop.first %}{% continue %}{% endif %}", "{% set c = none %}") + self.out(1) + \
                "{% endfor %}" + self.pick("", "{{ c.current }}", "{{ j() }}", "{{ loop }}", "{{ i }}")
        if loop:
            return self.tag("if " + self.expr(1)) + self.tag(self.pick("break", "continue")) + self.tag("endif")
        return self.out(2)
