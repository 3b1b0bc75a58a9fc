/* test_json.c - the tree of a JSON file: what it holds, and what is refused where yajl would not. */
#include "check.h"

#include "base/mem.h"
#include "base/num.h"
#include "formats/json.h"

static sl_status parse(sl_json_doc *d, const char *text, sl_err *err)
{
    return sl_json_parse(d, text, strlen(text), err);
}

static void values(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\": [1, -2.5e1, \"x\", null, true], \"b\\u0000\\u00e9\": {\"c\": \"\\ud83d\\ude00\"},"
        " \"d\": 9223372036854775807, \"e\": 9223372036854775808, \"f\": 1e999, \"g\": false}";
    sl_json_doc d = { 0 };
    sl_err err = { 0 };
    int64_t i = 0;
    double x = 0;
    if (parse(&d, text, &err))
        fail_msg("%s", err.msg);
    const sl_json *a = sl_json_get(d.root, "a");
    assert_true(a && a->kind == SL_JSON_ARRAY && a->n == 5 && a->parent == d.root);
    assert_true(sl_json_int(a->first, &i) && i == 1);
    assert_true(!sl_json_int(a->first->next, &i) && sl_json_double(a->first->next, &x) && x == -25);
    assert_true(sl_json_is(a->first->next->next, "x"));
    assert_int_equal(a->first->next->next->next->kind, SL_JSON_NULL);
    const sl_json *b = a->next;
    assert_int_equal(b->key_len, 4);
    assert_memory_equal(b->key, "b\0\xc3\xa9", 4);
    assert_true(sl_json_is(sl_json_get(b, "c"), "\xf0\x9f\x98\x80"));
    assert_true(sl_json_int(sl_json_get(d.root, "d"), &i) && i == INT64_MAX);
    assert_false(sl_json_int(sl_json_get(d.root, "e"), &i));
    assert_true(sl_json_double(sl_json_get(d.root, "e"), &x));
    assert_false(sl_json_double(sl_json_get(d.root, "f"), &x));
    assert_null(sl_json_get(d.root, "nothing"));
    sl_json_fini(&d);
    assert_null(d.root);
}

static void members(void **state)
{
    (void)state;
    sl_json_doc d = { 0 };
    sl_err err = { 0 };
    bool flag = true;
    int64_t n = 7;
    sl_bytes s = { 0 };
    const sl_json *list = NULL;
    assert_int_equal(parse(&d, "{\"a\": {\"b\": [{}, {\"n\": 1.5, \"f\": 0, \"z\": null}]}}", &err), SL_OK);
    const sl_json *inner = sl_json_get(sl_json_get(d.root, "a"), "b")->first->next;
    assert_int_equal(sl_json_get_int(inner, "n", false, &n, &err), SL_EFORMAT);
    assert_string_equal(err.msg, "a.b[1].n: 1.5 is not an integer in range");
    assert_int_equal(sl_json_get_bool(inner, "f", false, &flag, &err), SL_EFORMAT);
    assert_string_equal(err.msg, "a.b[1].f: a number, should be a boolean");
    assert_int_equal(sl_json_get_str(inner, "z", false, &s, &err), SL_OK);
    assert_int_equal(sl_json_get_str(inner, "z", true, &s, &err), SL_EFORMAT);
    assert_string_equal(err.msg, "a.b[1]: \"z\" is missing");
    assert_int_equal(sl_json_get_list(inner, "y", false, &list, &err), SL_OK);
    assert_true(flag && n == 7 && !list);
    static const char *const known[] = { "n", "f", NULL };
    assert_int_equal(sl_json_only(inner, known, &err), SL_EUNSUPPORTED);
    assert_string_equal(err.msg, "a.b[1].z: this key is not known");
    sl_json_fini(&d);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sl_status status;
        const char *says;
    } cases[] = {
        { "", SL_EFORMAT, "line 1" },
        { "{", SL_EFORMAT, "line 1" },
        { "{} {}", SL_EFORMAT, "trailing" },
        { "{\"a\": 1,}", SL_EFORMAT, "line 1" },
        { "[1\n, 01]", SL_EFORMAT, "line 2" },
        { "[1.]", SL_EFORMAT, "" },
        { "[NaN]", SL_EFORMAT, "" },
        { "['a']", SL_EFORMAT, "" },
        { "/* */ []", SL_EFORMAT, "" },
        { "\xef\xbb\xbf{}", SL_EFORMAT, "line 1, byte 1: a byte order mark" },
        { "{\"a\":\n [1, 2", SL_EFORMAT, "line 2, byte 7: parse error: premature EOF" },
        { "[\"\n\"]", SL_EFORMAT, "" },
        { "[\"\\x41\"]", SL_EFORMAT, "" },
        { "[\"\\u12g4\"]", SL_EFORMAT, "" },
        { "[\"\xff\"]", SL_EFORMAT, "byte 3: not UTF-8" },
        { "[\"\xc0\x80\"]", SL_EFORMAT, "not UTF-8" },
        { "[\"\xed\xa0\x80\"]", SL_EFORMAT, "not UTF-8" },
        { "[\"\xf4\x90\x80\x80\"]", SL_EFORMAT, "not UTF-8" },
        { "[\"\\ud800\"]", SL_EFORMAT, "half of a surrogate pair" },
        { "[\"\\udc00\\ud800\"]", SL_EFORMAT, "half of a surrogate pair" },
        { "[\"\\ud800\\u0041\"]", SL_EFORMAT, "half of a surrogate pair" },
        { "{\"a\": {\"b\": 1, \"c\": 2, \"b\": 3}}", SL_EFORMAT, "a.b: this key comes twice" },
        { "{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"4\":1}", SL_EFORMAT,
          "4: this key comes twice" },
        { "[\"\\\\ud800\", \"\\\\\"]", SL_OK, "" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_json_doc d = { 0 };
        sl_err err = { 0 };
        if (parse(&d, cases[i].text, &err) != cases[i].status)
            fail_msg("%s: %s", cases[i].text, err.msg);
        check_says(&err, cases[i].says);
        assert_true((d.root != NULL) == (cases[i].status == SL_OK));
        sl_json_fini(&d);
    }
}

static void depth(void **state)
{
    (void)state;
    char text[200] = { 0 };
    sl_json_doc d = { 0 };
    sl_err err = { 0 };
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_int_equal(parse(&d, text, &err), SL_OK);
    sl_json_fini(&d);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    assert_int_equal(parse(&d, text, &err), SL_EUNSUPPORTED);
    check_says(&err, "64 levels");
}

static void every_allocation_fails(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\\n\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":\"\\t\",\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"10\":[[[]]]}";
    bool done = false;
    long n = 0;
    for (; !done; n++) {
        sl_json_doc d = { 0 };
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        const sl_status rc = parse(&d, text, &err);
        sl_mem_fail_after(-1);
        assert_true(n < 100 && (rc == SL_OK || (rc == SL_ENOMEM && err.code == SL_ENOMEM)));
        done = rc == SL_OK;
        sl_json_fini(&d);
    }
    assert_true(n > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(values), cmocka_unit_test(members), cmocka_unit_test(refused),
                                        cmocka_unit_test(depth), cmocka_unit_test(every_allocation_fails) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
