"""Every method, filter, test and operator with values of every kind and many arguments, one at a time:
what random templates meet too rarely. For differential.py --matrix."""

import itertools

STRINGS = ["''", "'abc'", "' a b  c '", "'aXbXc'", "'xxaxx'", "'Hello World-foo it\\'s'", "'\\n a\\r\\nb\\n'", "u8", "'\u65e5\u672c \u00e9'", "'12'", "'-3.5'",
           "'0x1f'", "' 7 '", "'1e3'", "'a,b,,c'", "'%s'", "'<b>&\"\\''", "'\t\u3000x\u00a0'", "'\u0130\u00df\ufb01\u01c5'", "'aaa'", "('<b>'|safe)"]
OTHERS = ["none", "true", "false", "0", "3", "-7", "2.5", "-0.5", "1e20", "1e-7", "[]", "[3, 1, 2]", "['b', 'A', 'c', 'a']", "(1, 2)", "{}",
          "{'a': 1, 'B': none}", "nested", "people", "range(3)", "missing", "n.foo", "[1, 'a', none]", "[[2, 'x'], [1, 'y']]", "nested.items()",
          "w|map('upper')", "[true, 1, 1.0]", "dict", "namespace(a=1)", "s.upper"]
SIMPLE = ["''", "'a'", "'X'", "' '", "'xa'", "none", "1", "-1", "0", "('a', 'b')", "missing", "'\\n'", "2.5", "[1]"]

METHODS = {
    "strip lstrip rstrip": ["", *SIMPLE], "split rsplit": ["", *SIMPLE, *("%s, %s" % p for p in itertools.product(
        ("none", "' '", "'X'", "'a'", "','", "'aa'"), ("-1", "0", "1", "2", "99", "none"))), "maxsplit=1", "sep='a'", "sep='X', maxsplit=1"],
    "splitlines": ["", "true", "false", "keepends=true", "0", "'a'"], "partition rpartition": SIMPLE,
    "startswith endswith": [*SIMPLE, "'a', 1", "'a', 1, 2", "'b', -3", "'a', none, none", "('', 'c'), 0", "()", "'', 99"],
    "find rfind index rindex count": [*SIMPLE, "'a', 1", "'a', 1, 3", "'', 1", "'', 99", "'a', -2", "'a', none, -1", "'X', 0, 99", "''", "'a', 2, 1"],
    "replace": ["'a', 'b'", "'', '-'", "'a', ''", "'a', 'b', 1", "'a', 'bb', 0", "'', '-', 2", "'xx', 'y', -1", "'a'", "'a', 1", "1, 'a'", "'a', 'b', none"],
    "join": ["[]", "['a']", "['a', 'b']", "'abc'", "{'k': 1, 'l': 2}", "[1]", "missing", "none", "('a', 'b')", "['<'|safe, '>']", "w|map('upper')"],
    "upper lower title capitalize swapcase casefold isdigit isdecimal isnumeric isalpha isalnum isspace isascii isprintable isupper islower istitle": ["", "1"],
    "ljust rjust center zfill": ["0", "5", "12", "-1", "13, '*'", "9, 'ab'", "9, ''", "true", "2.5", "none", "width=4", "8, '\u65e5'"],
    "removeprefix removesuffix": SIMPLE, "expandtabs": ["", "4", "0", "-1", "tabsize=3"], "format": ["", "1", "'a', 'b'", "a=1"],
    "nope": [""], "isidentifier": [""], "encode": [""]}
DICT_METHODS = {"get": ["'a'", "'zz'", "'zz', 5", "[]", "none", "", "'a', default=1", "1, 2, 3"], "items keys values copy": ["", "1"],
                "fromkeys": ["'ab'", "[1], 2", "1"], "pop update clear setdefault": ["'a'"], "nope": [""]}
LIST_METHODS = {"index": ["1", "9", "1, 1", "1, -1", "1, 0, 9", "none", "'a'"], "count": ["1", "'a'", "none", "true", ""], "copy": [""], "append pop sort": ["1"],
                "nope": [""]}
FILTERS = {
    "upper lower title capitalize trim string safe e forceescape list length first last wordcount abs reverse sort unique items dictsort tojson "
    "int float round sum min max join urlencode striptags filesizeformat center indent wordwrap truncate d default select reject map batch slice": [""],
    "trim": SIMPLE, "replace": ["'a', 'b'", "'a', 5, 1", "1, 2", "'a'", "'', '-'", "'a', 'b', none", "'<', '>'"],
    "center": ["8", "0", "-1", "none", "width=7", "2.5", "'a'"], "indent": ["2", "'>>'", "2, true", "2, true, true", "first=true", "blank=true", "0", "none"],
    "truncate": ["5", "5, true", "5, false, '..'", "5, true, '', 0", "3, leeway=0", "2", "0, end=''", "none", "9, end=1"],
    "wordwrap": ["5", "1", "4, false", "6, wrapstring='|'", "3, true, '|', false", "0"], "default": ["'d'", "'d', true", "boolean=true", "default_value=1"],
    "int": ["5", "base=16", "0, 2", "none", "base=0"], "float": ["9", "none", "default='x'"], "round": ["1", "-1", "2, 'ceil'", "0, 'floor'", "1, 'nope'", "method='ceil'", "none"],
    "join": ["', '", "'-', 'a'", "attribute='name'", "1", "none", "d='+'"], "tojson": ["2", "indent=0", "true", "indent='-'", "sort_keys=true", "separators=(',', ':')",
        "ensure_ascii=true", "separators=none", "indent=2, separators=(';', '=')", "indent=-1", "indent=none"],
    "sort": ["true", "reverse=true", "case_sensitive=true", "attribute='name'", "attribute='age,name'", "attribute=0", "false, true, 'age'"],
    "unique": ["true", "attribute='age'", "case_sensitive=true"], "min max": ["true", "attribute='age'", "case_sensitive=true"],
    "sum": ["'age'", "attribute='age'", "start=5", "start=[]", "'age', 1.5"], "batch": ["2", "2, 'x'", "0", "-1", "3, none", "1.5"],
    "slice": ["2", "3, 'x'", "0", "-1", "1.5", "9"], "groupby": ["'age'", "'name'", "'zz', default='?'", "0", "'age', case_sensitive=true", ""],
    "dictsort": ["true", "false, 'value'", "by='value'", "reverse=true", "by='x'"],
    "map": ["'upper'", "attribute='name'", "attribute='age', default=1", "'default', 'z'", "'nope'", "attribute=0", "'replace', 'a', 'b'", "attribute='a.b'", "'int'", "nope=1",
            "'join', '+'", "attribute='x.y.0', default='?'"],
    "select reject": ["'odd'", "'string'", "'eq', 1", "'in', [1, 'a']", "'nope'", "'none'", "'gt', 1", "1"],
    "selectattr rejectattr": ["'age'", "'age', 'eq', 30", "'name', 'string'", "'zz'", "'zz', 'defined'", "0", "", "'a.b'", "'x', 'none'"],
    "attr": ["'upper'", "'a'", "'_a'", "1", ""], "format": ["1", "'a', 2", "a=1", ""], "nope": [""]}
TESTS = ["defined", "undefined", "none", "boolean", "true", "false", "integer", "float", "number", "string", "mapping", "iterable", "sequence", "callable", "escaped",
         "filter", "test", "odd", "even", "divisibleby 2", "divisibleby(0)", "lower", "upper", "sameas none", "sameas(1)", "in [1, 'a', none]", "in 'abc'", "in nested", "in 5",
         "eq 1", "== 1", "ne 'a'", "lt 3", "<= 2.5", "gt 'a'", ">= none", "equalto([])", "nope", "lessthan(1)", "eq", "defined(1)"]
LARGEST = "9223372036854775807"
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
OPERANDS = ["none", "true", "0", "3", "-7", "2.5", "-0.0", "''", "'a'", "'%s'", "'%d|'", "[]", "[1, 'a']", "(1,)", "{}", "{'a': 1}", "range(3)", "missing", "('<'|safe)",
            "nested.keys()", "1e300", LARGEST, "dict"]
BOUNDS = ["", "0", "1", "-1", "-2", "2", "9", "-9", "none", "n"]
SPECS = ["", "5", "<5", ">5", "^5", "*^7", "05", "+", " ", "x", "X", "#x", "o", "b", "#b", "c", "d", "5d", "+d", ",", ",d", "05d", "e", ".2e", "E", "f", ".0f", ".2f", "08.2f", "+.1f",
         ",.2f", "g", ".3g", "G", "n", "%", ".1%", "s", "5s", ".2s", "<5.2s", "=5", "*=7", "-", "#.3g", ".3", ".0", "_", "z", "_x", "_b", "20_x", "020_d", "010,", "+_.2f", ",_", "z.1f", "!r", "5.", "\u65e5^5", "010", "<010", ".10", "#o", "#", "0", "08,.1f"]
PERCENTS = ["%s", "%r", "%a", "%d", "%i", "%5d|", "%-5d|", "%05d", "%+d", "% d", "%x", "%#x", "%X", "%o", "%#o", "%e", "%.2e", "%E", "%f", "%.0f", "%8.2f|", "%-8.1f|", "%g", "%.3g", "%G", "%c",
            "%5s|", "%-5s|", "%.2s", "%5.1s|", "%%", "%5%", "%", "%q", "%*d", "%(a)s", "%(zz)s", "%s %s", "%.3d", "%+.3d", "%#.3f", "% 5d", "%u", "%ld", "%F", "%+s", "x"]


def names(table):
    for key, arguments in table.items():
        for name in key.split():
            for argument in arguments:
                yield name, argument


def templates():
    """Each prints one expression; some print a few that cannot fail one after the other."""
    everything = STRINGS + OTHERS
    for v, (name, argument) in itertools.product(STRINGS, names(METHODS)):
        yield "{{ (%s).%s(%s) }}" % (v, name, argument)
    for v, (name, argument) in itertools.product(OTHERS, itertools.chain(names(DICT_METHODS), names(LIST_METHODS))):
        yield "{{ (%s).%s(%s) }}" % (v, name, argument)
    for v, (name, argument) in itertools.product(everything, names(FILTERS)):
        lazy = name in ("map", "select", "reject", "selectattr", "rejectattr", "batch", "slice", "unique", "reverse", "items")
        yield "{{ (%s)|%s%s%s }}" % (v, name, "(%s)" % argument if argument else "", "|list" if lazy else "")
    for v, test in itertools.product(everything, TESTS):
        yield "{{ (%s) is %s }}" % (v, test)
    for a, op, b in itertools.product(OPERANDS, OPERATORS, OPERANDS):
        if op != "**" or b != LARGEST:  # Python would compute that for years
            yield "{{ (%s) %s (%s) }}" % (a, op, b)
    for v, a, b, c in itertools.product(["'ab\u00e9d'", "[1, 2, 3]", "(1, 2)", "range(5)", "s", "l"], BOUNDS, BOUNDS, ["", "1", "-1", "2", "-3", "0", "none"]):
        yield "{{ (%s)[%s:%s:%s]|list }}" % (v, a, b, c)
    for v, key in itertools.product(everything, ["0", "-1", "99", "'a'", "none", "1.0", "true", "'upper'", "'_x'", "[]", "(1, 2)", "missing", "'items'", "'__class__'"]):
        yield "{{ (%s)[%s] }}" % (v, key)
    for v, name in itertools.product(everything, ["a", "items", "upper", "_x", "__class__", "append", "0", "first", "name", "real", "start"]):
        yield "{{ (%s).%s is defined }}{{ (%s).%s is undefined or 1 }}{{ (%s).%s is callable }}" % (v, name, v, name, v, name)
    for v, spec in itertools.product(["3", "-7", "0", "2.5", "-0.0", "1e20", "1e-7", "1234567", "12345.678", "true", "none", "'abc'", "'\u65e5'", "[1]", "missing"], SPECS):
        yield "{{ '{:%s}'.format(%s) }}" % (spec, v)
    for v, spec in itertools.product([*OTHERS, "'a'", "('x', 'y')", "(1, 2.5)", "{'a': 2.5}", "('<'|safe)", "(3,)", "65", "'\u65e5'", "(4, 3)"], PERCENTS):
        yield "{{ '%s' %% (%s) }}" % (spec, v)
    for v in everything:
        for unary in ("-(%s)", "+(%s)", "not (%s)", "- -(%s)"):
            yield "{{ %s }}" % (unary % v)
        for use in ("{%% for i in %s %%}{{ i }},{{ loop.last }}{%% else %%}none{%% endfor %%}", "{%% if %s %%}y{%% else %%}n{%% endif %%}", "{%% set a, b = %s %%}{{ a }}{{ b }}",
                    "{{ %s ~ 'x' }}", "{{ [%s] }}", "{{ {1: %s} }}", "{{ {%s: 1} }}", "{{ range(%s)|list }}", "{{ dict(%s) }}", "{{ namespace(%s) }}", "{{ joiner(%s)() }}",
                    "{{ cycler(%s).next() }}", "{{ strftime_now(%s) }}", "{{ raise_exception(%s) }}", "{%% call %s() %%}{%% endcall %%}", "{{ (%s)(1) }}", "{{ 1 if %s else 2 }}",
                    "{%% for i in [1] if %s %%}{{ i }}{%% endfor %%}", "{%% with x = %s %%}{{ x }}{%% endwith %%}", "{%% macro m(a=%s) %%}{{ a }}{%% endmacro %%}{{ m() }}",
                    "{%% set ns = namespace() %%}{%% set ns.x = %s %%}{{ ns.x }}", "{{ 'a'.join(%s) }}", "{{ '{}'.format(%s) }}", "{{ '{0!r:>9}'.format(%s) }}", "{{ '{0[a]}'.format(%s) }}"):
            yield use % v if "(%s)" in use else use % ("(%s)" % v)
