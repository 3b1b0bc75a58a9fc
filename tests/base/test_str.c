/* The growing string: content, termination, and one check at the end after any failure. */
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"

static void test_append(void **state)
{
    (void)state;
    sl_str s = { 0 };
    sl_str_append(&s, "", 0);
    sl_str_printf(&s, "%s", "");
    assert_null(s.data);
    sl_str_puts(&s, "ab");
    sl_str_append(&s, "\0c", 2);
    sl_str_printf(&s, "%d-%s", 42, "z");
    assert_int_equal(s.len, 8);
    assert_memory_equal(s.data, "ab\0c42-z", 9);
    const size_t cap = s.cap;
    sl_str_clear(&s);
    assert_int_equal(s.len, 0);
    assert_int_equal(s.cap, cap);
    assert_string_equal(s.data, "");
    sl_str_fini(&s);
    assert_null(s.data);
}

/* Every length around the growth steps, by printf, whose text must fit in place. */
static void test_growth(void **state)
{
    (void)state;
    sl_str s = { 0 };
    size_t want = 0;
    for (int i = 0; i < 700; i++) {
        sl_str_printf(&s, "%0*d", i % 150 + 1, i % 10);
        want += (size_t)(i % 150 + 1);
        assert_int_equal(s.len, want);
        assert_int_equal(s.data[s.len], 0);
    }
    assert_false(s.failed);
    sl_str_fini(&s);
}

static void test_failure_sticks(void **state)
{
    (void)state;
    sl_str s = { 0 };
    sl_str_puts(&s, "kept");
    sl_mem_fail_after(0);
    char big[500];
    memset(big, 'x', sizeof big);
    sl_str_append(&s, big, sizeof big);
    sl_mem_fail_after(-1);
    assert_true(s.failed);
    sl_str_puts(&s, "more");
    sl_str_printf(&s, "%d", 1);
    assert_true(s.failed);
    assert_string_equal(s.data, "kept");
    sl_str_clear(&s);
    sl_str_puts(&s, "again");
    assert_false(s.failed);
    assert_string_equal(s.data, "again");
    sl_str_append(&s, big, SIZE_MAX - 2); /* the sum overflows: refused before anything is read */
    assert_true(s.failed);
    sl_str_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_failure_sticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
