/* test_yaml.c - YAML as a tree with places; what says something else than it shows is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/num.h"
#include "formats/yaml.h"

static void places(void **state)
{
    (void)state;
    static const char text[] = "# first\nm\xc3\xb6"
                               "del:   [a, 'b c']\nsizes: {one: 1, \"two\": 2}\nlong: |\n  x\n  y\nempty:\n";
    sl_yaml_doc d = { 0 };
    sl_err err = { 0 };
    assert_int_equal(sl_yaml_parse(&d, "f.yaml", text, strlen(text), &err), SL_OK);
    assert_int_equal(d.root->kind, SL_YAML_MAP);
    assert_int_equal(d.root->n, 4);
    const sl_yaml *model = sl_yaml_get(d.root, "m\xc3\xb6"
                                               "del"),
                  *two = sl_yaml_get(sl_yaml_get(d.root, "sizes"), "two");
    assert_true(model->kind == SL_YAML_LIST && model->n == 2 && model->line == 2 && model->column == 1);
    assert_true(model->at_line == 2 && model->at_column == 10); /* characters, not bytes */
    assert_true(!model->first->next->plain && strcmp(model->first->next->text, "b c") == 0);
    assert_true(two->plain && two->line == 3 && two->at_column == 24 && strcmp(two->text, "2") == 0);
    assert_string_equal(sl_yaml_get(d.root, "long")->text, "x\ny\n");
    assert_true(sl_yaml_null(sl_yaml_get(d.root, "empty")) && !sl_yaml_get(d.root, "none"));
    assert_int_equal(sl_yaml_fail(&d, two, &err, "%s", "is wrong"), SL_EFORMAT);
    assert_string_equal(err.msg, "f.yaml:3:24: sizes.two: is wrong");
    sl_yaml_fail_key(&d, two, &err, "%s", "is wrong");
    assert_string_equal(err.msg, "f.yaml:3:17: sizes.two: is wrong");
    sl_yaml_fail(&d, model->first->next, &err, "%s", "is wrong");
    assert_string_equal(err.msg, "f.yaml:2:14: m??del[1]: is wrong");
    sl_yaml_fini(&d);
}

/* The value of `a: TEXT`, alone in a document. */
static const sl_yaml *value(sl_yaml_doc *d, const char *text)
{
    char file[64];
    sl_err err = { 0 };
    const int n = snprintf(file, sizeof file, "a: %s\n", text);
    if (sl_yaml_parse(d, "f", file, (size_t)n, &err))
        fail_msg("%s: %s", text, err.msg);
    return d->root->first;
}

static void scalars(void **state)
{
    (void)state;
    enum { INT = 1, REAL = 2, BOOL = 4, NONE = 8, ODD = 16 };
    static const struct {
        const char *text;
        unsigned is;
        double number;
    } cases[] = {
        { "0", INT | REAL, 0 },
        { "42", INT | REAL, 42 },
        { "-7", INT | REAL, -7 },
        { "+7", INT | REAL, 7 },
        { "9223372036854775807", INT | REAL, 9223372036854775807.0 },
        { "9223372036854775808", REAL, 9223372036854775808.0 },
        { "0.5", REAL, 0.5 },
        { ".5", REAL, 0.5 },
        { "5.", REAL, 5 },
        { "1e3", REAL, 1000 },
        { "1.5E-1", REAL, 0.15 },
        { "010", ODD, 0 },
        { "-010", ODD, 0 },
        { "0o10", ODD, 0 },
        { "0x10", ODD, 0 },
        { "0b1", ODD, 0 },
        { "1_000", ODD, 0 },
        { "1:30", ODD, 0 },
        { "190:20:30", ODD, 0 },
        { ".inf", ODD, 0 },
        { "-.inf", ODD, 0 },
        { ".nan", ODD, 0 },
        { "1e999", 0, 0 },
        { "1e", 0, 0 },
        { "e1", 0, 0 },
        { ".", 0, 0 },
        { "1.2.3", 0, 0 },
        { "4G", 0, 0 },
        { "1 2", 0, 0 },
        { "true", BOOL, 1 },
        { "True", BOOL, 1 },
        { "FALSE", BOOL, 0 },
        { "tRue", 0, 0 },
        { "yes", 0, 0 },
        { "off", 0, 0 },
        { "n", 0, 0 },
        { "~", NONE, 0 },
        { "null", NONE, 0 },
        { "", NONE, 0 },
        { "'1'", 0, 0 },
        { "\"true\"", 0, 0 },
        { "''", 0, 0 },
        { "[1]", 0, 0 },
        { "{b: 1}", 0, 0 },
        { "nan", 0, 0 },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_yaml_doc d = { 0 };
        const sl_yaml *v = value(&d, cases[i].text);
        int64_t n = 0;
        double r = 0.0;
        bool b = false;
        const unsigned is = (sl_yaml_int(v, &n) ? INT : 0) | (sl_yaml_real(v, &r) ? REAL : 0) |
                            (sl_yaml_bool(v, &b) ? BOOL : 0) | (sl_yaml_null(v) ? NONE : 0) |
                            (sl_yaml_odd(v) ? ODD : 0);
        if (is != cases[i].is || ((is & REAL) && r != cases[i].number) || ((is & BOOL) && b != (cases[i].number > 0)) ||
            ((is & INT) && (double)n != cases[i].number))
            fail_msg("%s: %u, should be %u (%lld, %g)", cases[i].text, is, cases[i].is, (long long)n, r);
        assert_true(*sl_yaml_is(v));
        sl_yaml_fini(&d);
    }
}

static void what_a_value_is(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "yes", "a boolean to some" },
        { "Off", "a boolean to some" },
        { "y", "a boolean to some" },
        { "true", "a boolean" },
        { "'yes'", "quotes" },
        { "010", "leading zero" },
        { "0x10", "another base" },
        { "1_0", "underscore" },
        { "1:30", "base 60" },
        { ".inf", "no finite" },
        { "[]", "a list" },
        { "{}", "a group" },
        { "", "no value" },
        { "12", "a whole number" },
        { "-99999999999999999999", "more than 64 bits" },
        { "1.5", "a number" },
        { "word", "text" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_yaml_doc d = { 0 };
        const char *is = sl_yaml_is(value(&d, cases[i][0]));
        if (!strstr(is, cases[i][1]))
            fail_msg("%s: \"%s\", should say \"%s\"", cases[i][0], is, cases[i][1]);
        sl_yaml_fini(&d);
    }
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sl_status want;
        const char *says;
    } bad[] = {
        { "", SL_EFORMAT, "f: is empty" },
        { "# nothing\n", SL_EFORMAT, "f: is empty" },
        { "---\n", SL_EFORMAT, "f:2:1: keys with values" },
        { "word\n", SL_EFORMAT, "f:1:1: keys with values" },
        { "- a\n- b\n", SL_EFORMAT, "f:1:1: keys with values" },
        { "a: 1\nb: [1,\n", SL_EFORMAT, "f:3:1: b: " },
        { "a: 1\n b: 2\n", SL_EFORMAT, "f:2:3: mapping values are not allowed" },
        { "a: 'x\n", SL_EFORMAT, "quoted scalar" },
        { "a: 1\nb: 2\na: 3\n", SL_EFORMAT, "f:3:1: a: stands here again; it is set in line 1" },
        { "o:\n  a: 1\n  b: {c: 1}\n  a: 2\n", SL_EFORMAT, "f:4:3: o.a: stands here again; it is set in line 2" },
        { "a: {b: 1, \"b\": 2}\n", SL_EFORMAT, "f:1:11: a.b: stands here again; it is set in line 1" },
        { "a: &x 1\n", SL_EUNSUPPORTED, "f:1:4: a: anchors (&x)" },
        { "a: *x\n", SL_EUNSUPPORTED, "f:1:4: a: aliases (*x)" },
        { "&k a: 1\n", SL_EUNSUPPORTED, "anchors (&k)" },
        { "*k : 1\n", SL_EUNSUPPORTED, "aliases (*k)" },
        { "a: &l [1]\n", SL_EUNSUPPORTED, "anchors (&l)" },
        { "a: &m {b: 1}\n", SL_EUNSUPPORTED, "anchors (&m)" },
        { "a: {<<: {b: 1}}\n", SL_EUNSUPPORTED, "f:1:5: a: merge keys" },
        { "<<: [{b: 1}]\n", SL_EUNSUPPORTED, "f:1:1: merge keys" },
        { "a: !!str 1\n", SL_EUNSUPPORTED, "f:1:4: a: tags (tag:yaml.org,2002:str)" },
        { "a: !python/object:os.system [ls]\n", SL_EUNSUPPORTED, "f:1:4: a: tags" },
        { "!!map {a: 1}\n", SL_EUNSUPPORTED, "tags" },
        { "a: 1\n---\nb: 1\n", SL_EUNSUPPORTED, "f:2:1: a second document" },
        { "--- {a: 1}\n--- {b: 1}\n", SL_EUNSUPPORTED, "f:2:1: a second document" },
        { "? [a, b]\n: 1\n", SL_EUNSUPPORTED, "f:1:3: a list or map as a key" },
        { "{[a]: 1}\n", SL_EUNSUPPORTED, "a list or map as a key" },
        { ": 1\n", SL_EFORMAT, "f:1:1: did not find expected key" },
        { "\"\": 1\n", SL_EFORMAT, "a key is missing" },
        { "a:\n\tb: 1\n", SL_EFORMAT, "f:2:1: a: a tab" },
        { "a:\n  b: 1\n\tc: 2\n", SL_EFORMAT, "f:3:1: a.b: a tab" },
        { "a: @b\n", SL_EFORMAT, "f:1:4: a: " },
        { "a: b\x80\n", SL_EFORMAT, "f:1:5: invalid leading UTF-8 octet (byte 4)" },
        { "a: 1\nb: \x01\n", SL_EFORMAT, "f:2:4: control characters" },
        { "a: \"\\0\"\n", SL_EFORMAT, "f:1:4: a: a NUL" },
        { "\xff\xfe"
          "a",
          SL_EUNSUPPORTED, "f:1:1: UTF-16" },
        { "\xfe\xff"
          "a",
          SL_EUNSUPPORTED, "f:1:1: UTF-16" },
        { "a: [[[[[[[[1]]]]]]]]\n", SL_EUNSUPPORTED, "f:1:11: a[0][0][0][0][0][0]: nested deeper than 8" },
        { "%TAG ! tag:x,2026:\n--- {a: !b 1}\n", SL_EUNSUPPORTED, "tags (tag:x,2026:b)" },
        { "%YAML 3.0\n--- {a: 1}\n", SL_EFORMAT, "incompatible YAML" },
    };
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        sl_yaml_doc d = { 0 };
        sl_err err = { 0 };
        const sl_status rc = sl_yaml_parse(&d, "f", bad[i].text, strlen(bad[i].text), &err);
        if (rc != bad[i].want || !strstr(err.msg, bad[i].says))
            fail_msg("%s: %s \"%s\", should be %s and say \"%s\"", bad[i].text, sl_status_name(rc), err.msg,
                     sl_status_name(bad[i].want), bad[i].says);
        assert_null(d.root);
    }
}

static void bytes_of_the_file(void **state)
{
    (void)state;
    sl_yaml_doc d = { 0 };
    sl_err err = { 0 };
    assert_int_equal(sl_yaml_parse(&d, "f", "a: 1\nb: \0\n", 10, &err), SL_EFORMAT);
    assert_string_equal(err.msg, "f:2:4: a NUL; UTF-8 text is expected");
    assert_int_equal(sl_yaml_parse(&d, "f",
                                   "\xef\xbb\xbf"
                                   "a: 1\r\nb: 2\r\n",
                                   15, &err),
                     SL_OK);
    assert_true(d.root->n == 2 && sl_yaml_get(d.root, "b")->line == 2);
    sl_yaml_fini(&d);
}

/* libyaml's time grows with the square of the nesting: it must not come to that. */
static void large_and_deep(void **state)
{
    (void)state;
    const size_t n = SL_YAML_BYTES_MAX;
    char *text = malloc(n + 1);
    sl_yaml_doc d = { 0 };
    sl_err err = { 0 };
    assert_non_null(text);
    static const char *const units[] = { "[", "{", "- ", "? ", "[a: ", "{a: ", "\"", "&a ", "!a ", "'" };
    for (size_t u = 0; u < SL_COUNT(units); u++) {
        for (size_t i = 0; i < n; i++)
            text[i] = units[u][i % strlen(units[u])];
        assert_true(sl_yaml_parse(&d, "f", text, n, &err) != SL_OK && !d.root);
    }
    assert_int_equal(sl_yaml_parse(&d, "f", text, n + 1, &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.msg, "65537 bytes"));
    size_t used = 0;
    for (int i = 0; i <= SL_YAML_MEMBERS_MAX; i++)
        used += (size_t)sprintf(text + used, "k%d: 1\n", i);
    assert_int_equal(sl_yaml_parse(&d, "f", text, used, &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.msg, "f:257:7: k256: more than 256"));
    free(text);
}

static void no_memory(void **state)
{
    (void)state;
    static const char text[] = "a: [1, 2]\nb: {c: text}\n";
    sl_err err = { 0 };
    sl_status rc = SL_ENOMEM;
    long n = 0;
    for (; rc == SL_ENOMEM && n < 100; n++) {
        sl_yaml_doc d = { 0 };
        sl_mem_fail_after(n);
        rc = sl_yaml_parse(&d, "f", text, strlen(text), &err);
        sl_mem_fail_after(-1);
        assert_true(rc == SL_OK || (rc == SL_ENOMEM && !d.root && strstr(err.msg, "f: no memory")));
        sl_yaml_fini(&d);
    }
    assert_true(rc == SL_OK && n > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),   cmocka_unit_test(scalars),           cmocka_unit_test(what_a_value_is),
        cmocka_unit_test(refused),  cmocka_unit_test(bytes_of_the_file), cmocka_unit_test(large_and_deep),
        cmocka_unit_test(no_memory)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
