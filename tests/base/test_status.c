/* Error texts: composed in front, one line, cut at the end and between characters. */
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(sl_status_name(SL_ENOMEM), "SL_ENOMEM");
    assert_string_equal(sl_status_text(SL_ENOMEM), "not enough memory");
    assert_string_equal(sl_status_name(SL_OK), "SL_OK");
    assert_non_null(sl_status_name((sl_status)77));
    assert_non_null(sl_status_text((sl_status)77));
}

static void test_where_goes_in_front(void **state)
{
    (void)state;
    sl_err err = { 0 };
    assert_int_equal(sl_fail(&err, SL_EFORMAT, "type %d is not known", 99), SL_EFORMAT);
    assert_int_equal(err.code, SL_EFORMAT);
    assert_int_equal(sl_fail_in(&err, SL_EFORMAT, "tensor %s", "blk.0"), SL_EFORMAT);
    assert_int_equal(sl_fail_in(&err, SL_EUNSUPPORTED, "model.gguf"), SL_EUNSUPPORTED);
    assert_string_equal(err.msg, "model.gguf: tensor blk.0: type 99 is not known");
    assert_int_equal(err.code, SL_EUNSUPPORTED);
    assert_int_equal(sl_fail(NULL, SL_EIO, "x"), SL_EIO);
    assert_int_equal(sl_fail_in(NULL, SL_EIO, "x"), SL_EIO);
}

static void test_argument_may_be_the_old_text(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_fail(&err, SL_EIO, "first");
    sl_fail(&err, SL_EIO, "second, not %s", err.msg);
    assert_string_equal(err.msg, "second, not first");
}

static void test_one_line(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_fail(&err, SL_EIO, "%s", "a\nb\033[31mc\x7f");
    assert_string_equal(err.msg, "a b [31mc ");
}

static void test_cut_at_the_end(void **state)
{
    (void)state;
    sl_err err = { 0 };
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    sl_fail(&err, SL_EIO, "%s", text);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    sl_fail_in(&err, SL_EIO, "where");
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    assert_memory_equal(err.msg, "where: xxx", 10);
    sl_fail_in(&err, SL_EIO, "%s", text);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    assert_int_equal(err.msg[0], 'x');
}

/* U+20AC is three bytes: whatever the offset of the cut, none is left in pieces. */
static void test_cut_between_characters(void **state)
{
    (void)state;
    char text[1000];
    for (size_t lead = 0; lead < 3; lead++) {
        memset(text, 'x', lead);
        size_t n = lead;
        for (; n + 3 < sizeof text; n += 3)
            memcpy(text + n, "\xe2\x82\xac", 3);
        text[n] = '\0';
        sl_err err = { 0 };
        sl_fail(&err, SL_EIO, "%s", text);
        const size_t len = strlen(err.msg);
        assert_true(len >= sizeof err.msg - 3);
        assert_int_equal((len - lead) % 3, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_where_goes_in_front),
        cmocka_unit_test(test_argument_may_be_the_old_text),
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_cut_at_the_end),
        cmocka_unit_test(test_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
