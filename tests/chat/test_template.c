/* test_template.c - the engine by hand: reported failures of others, error messages with their
 * place, limits, and running out of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "chat/template.h"

static sl_status render(const char *source, const char *context, sl_str *out, sl_err *err)
{
    sl_template *t = NULL;
    json_t *vars = json_loads(context, 0, NULL);
    assert_non_null(vars);
    sl_status rc = sl_template_create(&t, source, strlen(source), err);
    if (!rc)
        rc = sl_template_render(t, vars, out, err);
    sl_template_destroy(t);
    json_decref(vars);
    return rc;
}

static void renders(const char *source, const char *context, const char *want)
{
    sl_str out = { 0 };
    sl_err err = { 0 };
    if (render(source, context, &out, &err))
        fail_msg("%s: %s", source, err.msg);
    assert_string_equal(out.data ? out.data : "", want);
    sl_str_fini(&out);
}

/* `place` is how the message must begin, `what` must be in it. Nothing may be appended. */
static void fails(const char *source, const char *context, sl_status code, const char *place, const char *what)
{
    sl_str out = { 0 };
    sl_err err = { 0 };
    sl_str_puts(&out, "before");
    assert_int_equal(render(source, context, &out, &err), code);
    assert_int_equal(err.code, code);
    if (strncmp(err.msg, place, strlen(place)) != 0 || !strstr(err.msg, what))
        fail_msg("%s: wanted \"%s ... %s\", got \"%s\"", source, place, what, err.msg);
    assert_string_equal(out.data, "before");
    sl_str_fini(&out);
}

/* llama.cpp #11443: Command-R7B's loop that ends early. */
static void test_break_continue(void **state)
{
    (void)state;
    renders("{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}"
            "{{ i }}{% endfor %}|",
            "{}", "023|");
    renders("{% for a in [1,2] %}{% for b in [1,2,3] %}{% if b > a %}{% break %}{% endif %}{{ a }}{{ b }} {% endfor %}"
            "{% endfor %}",
            "{}", "11 21 22 ");
    renders("{% for a in [1,2] %}{% set x %}q{% break %}{% endset %}{{ x }}{% endfor %}.", "{}", ".");
    fails("{% break %}", "{}", SL_EFORMAT, "line 1, column 4:", "outside of a loop");
    fails("{% for i in [1] %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}", "{}", SL_EFORMAT,
          "line 1, column 37:", "outside of a loop");
}

/* minijinja #815: SmolLM3 marks the assistant's text. */
static void test_generation(void **state)
{
    (void)state;
    renders("{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}"
            "{% else %}[{{ m.content }}]{% endif %}{% endfor %}",
            "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}]}",
            "[a]b");
    fails("{% generation %}x", "{}", SL_EFORMAT, "line 1, column 4:", "'generation' without its end");
}

/* kekzl/imp #1565: nothing may be dropped in silence. */
static void test_unknown(void **state)
{
    (void)state;
    renders("{% raw %}{% made up %}{{ x }}{% endraw %}", "{}", "{% made up %}{{ x }}");
    renders("{% macro box(title) %}<{{ title }}:{{ caller(2) }}>{% endmacro %}"
            "{% call(n) box('t') %}{{ n }}{{ n }}{% endcall %}",
            "{}", "<t:22>");
    fails("a\n  {% made up %}", "{}", SL_EFORMAT, "line 2, column 6:", "unknown tag 'made'");
    fails("{% if x %}\n{% endfor %}", "{}", SL_EFORMAT, "line 2, column 4:", "unknown tag 'endfor'");
    fails("{% if false %}{{ x | nonesuch }}{% endif %}", "{}", SL_EFORMAT, "line 1, column 22:", "no filter named");
    fails("{{ x is nonesuch }}", "{}", SL_EFORMAT, "line 1, column 9:", "no test named");
    fails("{{ 1 | pprint }}", "{}", SL_EUNSUPPORTED, "line 1, column 8:", "'pprint' is not supported");
    fails("{% if false %}\n {{ x | random }}{% endif %}", "{}", SL_EUNSUPPORTED,
          "line 2, column 9:", "'random' is not supported");
    static const char *const tags[] = { "extends 'x'", "import 'x' as y", "from 'x' import y", "block b",
                                        "autoescape true" };
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        char source[64] = "";
        snprintf(source, sizeof source, "a{%% %s %%}", tags[i]);
        fails(source, "{}", SL_EUNSUPPORTED, "line 1, column 5:", "is not supported");
    }
    fails("{% include 'x' %}", "{}", SL_EUNSUPPORTED, "line 1, column 4:", "'include' is not supported");
    fails("{{ nope() }}", "{}", SL_EFORMAT, "line 1, column 8:", "'nope' is undefined");
    fails("{{ 'a'.encode() }}", "{}", SL_EUNSUPPORTED, "line 1, column 14:", "str.encode()");
    fails("{{ 'a'.nope() }}", "{}", SL_EFORMAT, "line 1, column 12:", "no attribute 'nope'");
    fails("{{ a.b.c }}", "{\"a\": {}}", SL_EFORMAT, "line 1, column 7:", "'dict object' has no attribute 'b'");
}

/* llama.cpp #11402: a template's own refusal reaches the client. */
static void test_raise_exception(void **state)
{
    (void)state;
    const char *source = "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}\n"
                         "{{ raise_exception('Roles must alternate: ' ~ m.role) }}{% endif %}{{ m.role }};{% endfor %}";
    renders(source, "{\"messages\": [{\"role\": \"user\"}, {\"role\": \"assistant\"}]}", "user;assistant;");
    fails(source, "{\"messages\": [{\"role\": \"user\"}, {\"role\": \"user\"}, {\"role\": \"user\"}]}", SL_EINVAL,
          "line 2, column 19: Roles must alternate: user", "");
    fails("{{ raise_exception('two\nlines') }}", "{}", SL_EINVAL, "line 1, column 19: two lines", "");
}

/* llama.cpp #12729: the date of Llama 3's prompts. */
static void test_date(void **state)
{
    (void)state;
    const char *source = "{% if strftime_now is defined %}{% set d = strftime_now('%d %b %Y') %}{% else %}"
                         "{% set d = '26 Jul 2024' %}{% endif %}{{ d }}";
    sl_str out = { 0 };
    sl_err err = { 0 };
    renders(source, "{\"strftime_now\": 1722000000}", "26 Jul 2024");
    renders("{{ date_string if date_string is defined else strftime_now('%d %b %Y') }}",
            "{\"date_string\": \"1 May 2025\"}", "1 May 2025");
    renders("{{ strftime_now('%Y-%m-%d %H:%M:%S.%f%z%%') }}", "{\"strftime_now\": 0}", "1970-01-01 00:00:00.000000%");
    assert_int_equal(render(source, "{}", &out, &err), SL_OK);
    assert_int_equal(out.len, 11);
    assert_true(atoi(out.data + 7) >= 2025);
    sl_str_fini(&out);
}

/* google/minja #64: Qwen3's string methods. */
static void test_string_methods(void **state)
{
    (void)state;
    renders("{{ '<tool>x'.startswith('<tool>') }} {{ 'x</tool>'.endswith(('a', '</tool>')) }}", "{}", "True True");
    renders("{{ c.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') }}|"
            "{{ c.split('</think>')[-1].lstrip('\\n') }}",
            "{\"c\": \"<think>\\nhm\\n</think>\\n\\nyes\"}", "hm|yes");
    renders("{{ ' ab '.strip() }}|{{ 'xxaxx'.lstrip('x') }}|{{ 'xxaxx'.rstrip('x') }}|{{ 'aXa'.replace('a', 'b', 1) }}",
            "{}", "ab|axx|xxa|bXa");
    renders("{{ 'it\\'s a tale'.title() }} {{ 'it\\'s a tale'|title }} {{ '\u00e9\u00df'.upper() }} {{ 'ΑΣ'.lower() }}",
            "{}", "It'S A Tale It's A Tale \u00c9SS ας");
    renders("{{ '\u65e5\u672c\u8a9e'|length }} {{ '\u65e5\u672c\u8a9e'[::-1] }} {{ '\u65e5\u672c\u8a9e'[1] }}", "{}",
            "3 \u8a9e\u672c\u65e5 \u672c");
}

/* What Transformers lacks: a filter that published templates use all the same. */
static void test_from_json(void **state)
{
    (void)state;
    renders("{% set a = '{\"k\": [1, 2.50, null, \"\\u00e9\"]}' | from_json %}{{ a.k[3] }}{{ a | tojson }}", "{}",
            "\u00e9{\"k\": [1, 2.5, null, \"\u00e9\"]}");
    renders("{% for k, v in (s | from_json).items() %}{{ k }}{{ v }};{% endfor %}{{ '3' | from_json + 1 }}",
            "{\"s\": \"{\\\"b\\\": 1, \\\"a\\\": true}\"}", "b1;aTrue;4");
    fails("{{ '{' | from_json }}", "{}", SL_EFORMAT, "line 1, column 10:", "from_json");
    fails("{{ {} | from_json }}", "{}", SL_EFORMAT, "line 1, column 9:", "wants a string");
}

/* Jinja's compiler computes constants, and some come out as no running template could have them. */
static void test_constants(void **state)
{
    (void)state;
    renders("{{ 5e-324 }}|{{ 2.2250738585072014e-308 }}|{{ -1e-310 }}", "{}", "5e-324|2.2250738585072014e-308|-1e-310");
    renders("{{ 1[1:] }}|{{ (1, 2)[0][1:] }}|{{ {'a': 1}[:2] | default('d') }}|{{ [1[1:]] }}", "{}", "||d|[Undefined]");
    renders("{% if 1[1:] | default(true) %}{{ (1[1:] ~ 'a') ~ n }}{% endif %}", "{\"n\": 3}", "a3");
    fails("{% set x = 1[1:] %}", "{}", SL_EFORMAT, "line 1, column 13:", "cannot be sliced");
    fails("{{ [1[1:], n] }}", "{}", SL_EFORMAT, "line 1, column 6:", "cannot be sliced");
    fails("{{ n[1:] }}", "{\"n\": 1}", SL_EFORMAT, "line 1, column 5:", "cannot be sliced");
    renders("{{ '% d' % 1e20 }} {{ '%+.30d' % -1e22 }}", "{}",
            " 100000000000000000000 -000000010000000000000000000000");
}

static void test_immutable(void **state)
{
    (void)state;
    fails("{% set l = [] %}{% set _ = l.append(1) %}", "{}", SL_EFORMAT, "line 1, column 36:", "'append'");
    fails("{{ {}.update({}) }}", "{}", SL_EFORMAT, "line 1, column 13:", "unsafe");
    renders("{{ ''.__class__ }}{{ d._x }}", "{\"d\": {\"_x\": 1}}", "1");
}

static void test_syntax_errors(void **state)
{
    (void)state;
    fails("{{ 1 + }}", "{}", SL_EFORMAT, "line 1, column 8:", "expected an expression, found '}}'");
    fails("{{ 'a }}", "{}", SL_EFORMAT, "line 1, column 4:", "a string without an end");
    fails("\u00e9\u00e9 {{ ! }}", "{}", SL_EFORMAT, "line 1, column 7:", "unexpected character");
    renders("a{#", "{}", "a"); /* nothing follows: Jinja does not look for the end */
    fails("{# x", "{}", SL_EFORMAT, "line 1, column 1:", "comment");
    fails("{% raw %}x", "{}", SL_EFORMAT, "line 1, column 1:", "raw");
    fails("{{ (1] }}", "{}", SL_EFORMAT, "line 1, column 6:", "unexpected ']', expected ')'");
    fails("{% if %}{% endif %}", "{}", SL_EFORMAT, "line 1, column 7:", "expected an expression");
    fails("{% set 1 = 2 %}", "{}", SL_EFORMAT, "line 1, column 8:", "cannot assign");
    fails("{% for loop in [1] %}{% endfor %}", "{}", SL_EFORMAT, "line 1, column 8:", "'loop'");
    fails("{{ f(a=1, 2) }}", "{}", SL_EFORMAT, "line 1, column 5:", "order of arguments");
    fails("{{ 9223372036854775808 }}", "{}", SL_EUNSUPPORTED, "line 1, column 4:", "64 bits");
    fails("\xff", "{}", SL_EFORMAT, "template: byte 0", "UTF-8");
}

/* Every one of these must end with an error, soon and with the process alive. */
static void test_limits(void **state)
{
    (void)state;
    static const char *const hostile[] = {
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 1000000000000 }}",
        "{{ [0] * 1000000000000 }}",
        "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% macro f(x) %}{{ x }}{% call f(x) %}{% endcall %}{% endmacro %}{{ f(1) }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        ("{% set ns = namespace(l=[]) %}{% for i in range(90000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}"),
        ("{% set ns = namespace(l=[]) %}{% for i in range(90000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l == "
         "[ns.l] }}{{ ns.l|tojson }}"),
        ("{% set ns = namespace(i=[1]) %}{% for i in range(90000) %}{% set ns.i = ns.i|map('string') %}{% endfor %}{{ "
         "ns.i|list }}"),
        "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}",
        "{{ range(100001) }}",
        "{{ '%1000000s' % 'x' }}",
        "{{ 'x'.center(100000000000) }}",
        "{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "{% for x in [1, 1] recursive %}{{ loop([1, 1]) if loop.depth < 60 }}{% endfor %}",
        "{{ (['x' * 100000] * 100000) | join }}",
        "{{ ('a' * 1000000).replace('', 'b' * 1000000) }}",
        "{% set x = [0] * 1000000 %}{% for i in range(100000) %}{{ x == x + [] }}{% endfor %}",
        "{% set ns = namespace(l=['x']) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
        ("{% set ns = namespace(d={}) %}{% for i in range(100000) %}{% set ns.d = dict(ns.d, **{'k' ~ i: i}) %}{% "
         "endfor "
         "%}"),
        "{{ ([[[[1]]]] * 100000) | tojson(indent=100000) }}",
        "{{ ('\t' * 100000).expandtabs(1000000) }}",
        "{{ ('[' ~ '{},' * 4000000 ~ '1]') | from_json }}",
        "{{ ('[' * 4000 ~ ']' * 4000) | from_json }}",
        "{{ range(100) | slice(1000000000) | list }}",
        "{{ range(100) | batch(1000000000, 0) | list }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ ('a' * 4000000).rfind('b' ~ 'a' * 2000000) }}{{ ('a' * 4000000).rfind('b' ~ 'a' * 2000000) }}",
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
        fails(hostile[i], "{}", SL_EFORMAT, "line 1, column ", "");
}

/* Long words and dashes take linear time: the test's time limit watches. */
static void test_long_words(void **state)
{
    (void)state;
    renders("{{ ('-' * 500000) | wordwrap(3) | length }}", "{}", "666666");
    renders("{{ ('a-' * 200000) | wordwrap(300000) | length }}", "{}", "400001");
    renders("{{ ('a--' * 100000) | wordwrap(10) | length > 300000 }}", "{}", "True");
}

/* A call with so many names that comparing them would take minutes. */
static void test_many_keywords(void **state)
{
    (void)state;
    sl_str source = { 0 };
    sl_template *t = NULL;
    sl_err err = { 0 };
    sl_str_puts(&source, "{{ f(");
    for (int i = 0; i < 100000; i++)
        sl_str_printf(&source, "a%d=1,", i);
    sl_str_puts(&source, ") }}");
    assert_int_equal(sl_template_create(&t, source.data, source.len, &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.msg, "line 1, column 5: more than 1000 keyword arguments"));
    sl_str_fini(&source);
}

/* n times `open`, then `middle`, then n times `close`. */
static char *nest(size_t n, const char *open, const char *middle, const char *close)
{
    const size_t a = strlen(open), b = strlen(middle), c = strlen(close);
    char *s = calloc(n * (a + c) + b + 1, 1);
    assert_non_null(s);
    for (size_t i = 0; i < n; i++)
        memcpy(s + i * a, open, a);
    memcpy(s + n * a, middle, b);
    for (size_t i = 0; i < n; i++)
        memcpy(s + n * a + b + i * c, close, c);
    return s;
}

static void test_nesting(void **state)
{
    (void)state;
    static const struct {
        const char *open, *middle, *close;
    } shapes[] = {
        { "{{ (", "1", ") }}" },
        { "{% if 1 %}", "x", "{% endif %}" },
        { "{% for i in [1] %}", "x", "{% endfor %}" },
        { "", "{{ 1", " + 1" },
        { "{{ ", "- - -1", "" },
        { "", "{{ x", ".a" },
        { "", "{{ x", "|trim" },
        { "", "{{ 1", " if 1 else 1" },
        { "{{ [", "", "] }}" },
        { "{% macro m() %}", "", "{% endmacro %}" },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t n = 1; n <= 50000; n *= n < 200 ? 2 : 10) {
            char *source = nest(n, shapes[i].open, shapes[i].middle, shapes[i].close);
            sl_template *t = NULL;
            sl_err err = { 0 };
            if (sl_template_create(&t, source, strlen(source), &err) == SL_OK && n > 1000)
                fail_msg("nested %zu deep: %s ... %s", n, shapes[i].open, shapes[i].close);
            sl_template_destroy(t);
            free(source);
        }
    for (size_t n = 1; n <= 512; n *= 2) { /* what may be parsed may be run */
        char *parens = nest(n, "(", "1", ")");
        char *source = calloc(strlen(parens) + 16, 1);
        sl_str out = { 0 };
        sl_err err = { 0 };
        assert_non_null(source);
        sprintf(source, "{{ %s }}", parens);
        if (render(source, "{}", &out, &err) == SL_OK)
            assert_string_equal(out.data, "1");
        else
            assert_true(n > 64);
        sl_str_fini(&out);
        free(source);
        free(parens);
    }
}

static const char busy[] =
    "{% macro m(a, b={'k': [1, 2.5]}) %}{{ a }}{{ b|tojson(indent=2) }}{{ kwargs }}{{ varargs }}{{ caller() }}"
    "{% endmacro %}{% set ns = namespace(x='') %}{% set t %}{% filter upper %}abc{{ x }}{% endfilter %}{% endset %}"
    "{% for i in l|map('string')|select|list if i != '2' %}{% set ns.x = ns.x ~ i * 700 %}{{ loop.last }}"
    "{{ loop.length }}{% else %}none{% endfor %}{% call m(t, 7, 8, z=9) %}{{ '%s|%d'|format('a', 3) }}{% endcall %}"
    "{% with a, b = 'x y z'.split() if false else (1, 2) %}{{ a }}{{ d.items()|list }}{{ l|sort(reverse=true) }}"
    "{{ d|dictsort }}{{ l|groupby(0) if 0 }}{{ 'a{}'.format(1) }}{{ l[::-1] }}{% endwith %}{{ ns.x|length }}"
    "{% generation %}{{ l|join(', ')|title }}{% endgeneration %}";

/* Whatever allocation fails: SL_ENOMEM, and nothing is left behind (ASan looks for leaks). */
static void test_out_of_memory(void **state)
{
    (void)state;
    json_t *vars = json_loads("{\"x\": \"\u00e9\", \"l\": [3, 1, 2], \"d\": {\"a\": 1, \"b\": null}}", 0, NULL);
    long n_failed = 0;
    assert_non_null(vars);
    for (long n = 0;; n++) {
        sl_template *t = NULL;
        sl_str out = { 0 };
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        sl_status rc = sl_template_create(&t, busy, strlen(busy), &err);
        if (!rc)
            rc = sl_template_render(t, vars, &out, &err);
        sl_mem_fail_after(-1);
        sl_template_destroy(t);
        const bool done = rc == SL_OK;
        if (!done) {
            assert_int_equal(rc, SL_ENOMEM);
            assert_int_equal(err.code, SL_ENOMEM);
        }
        sl_str_fini(&out);
        if (done)
            break;
        n_failed++;
    }
    assert_true(n_failed > 10);
    json_decref(vars);
}

/* The clock, the context and the template are read only: two renderings of one template agree. */
static void test_again(void **state)
{
    (void)state;
    sl_template *t = NULL;
    sl_str a = { 0 }, b = { 0 };
    json_t *vars = json_loads("{\"x\": \"q\", \"l\": [3, 1, 2], \"d\": {\"a\": 1}}", 0, NULL);
    assert_int_equal(sl_template_create(&t, busy, strlen(busy), NULL), SL_OK);
    assert_int_equal(sl_template_render(t, vars, &a, NULL), SL_OK);
    assert_int_equal(sl_template_render(t, vars, &b, NULL), SL_OK);
    assert_string_equal(a.data, b.data);
    sl_str_fini(&a);
    sl_str_fini(&b);
    assert_int_equal(sl_template_render(t, json_object_get(vars, "l"), &a, NULL), SL_EINVAL);
    sl_template_destroy(t);
    json_decref(vars);
}

/* A template that collects its text in a variable takes linear time and memory. */
static void test_long_concatenation(void **state)
{
    (void)state;
    renders(
        "{% set ns = namespace(s='') %}{% for i in range(50000) %}{% set ns.s = ns.s ~ 'one line of the text ' ~ i ~ "
        "'\\n' %}{% endfor %}{{ ns.s|length }}",
        "{}", "1338890");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_break_continue),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_raise_exception),
        cmocka_unit_test(test_date),
        cmocka_unit_test(test_string_methods),
        cmocka_unit_test(test_from_json),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_immutable),
        cmocka_unit_test(test_syntax_errors),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_many_keywords),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_long_concatenation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
