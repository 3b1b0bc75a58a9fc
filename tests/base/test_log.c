/* Messages on stderr: level, prefix, one line whatever is in it. */
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char captured[8192];

/* Run `say` with stderr in a file, and read that. */
static const char *capture(void (*say)(void))
{
    FILE *f = tmpfile();
    assert_non_null(f);
    const int saved = dup(STDERR_FILENO);
    dup2(fileno(f), STDERR_FILENO);
    say();
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(f);
    captured[fread(captured, 1, sizeof captured - 1, f)] = '\0';
    fclose(f);
    return captured;
}

static void say_all(void)
{
    sl_log(SL_LOG_ERROR, "e %d", 1);
    sl_log(SL_LOG_WARN, "w");
    sl_log(SL_LOG_INFO, "i");
    sl_log(SL_LOG_DEBUG, "d");
}

static void say_hostile(void)
{
    sl_log(SL_LOG_ERROR, "a\nb\033[2Jc");
}

static void say_long(void)
{
    sl_log(SL_LOG_ERROR, "%05000d", 1);
}

static void test_levels(void **state)
{
    (void)state;
    assert_string_equal(capture(say_all), "error: e 1\nwarning: w\n");
    sl_log_set_level(SL_LOG_DEBUG);
    assert_string_equal(capture(say_all), "error: e 1\nwarning: w\ni\ndebug: d\n");
    sl_log_set_level(SL_LOG_ERROR);
    assert_string_equal(capture(say_all), "error: e 1\n");
}

static void test_one_line(void **state)
{
    (void)state;
    assert_string_equal(capture(say_hostile), "error: a b [2Jc\n");
    const char *line = capture(say_long);
    assert_int_equal(strlen(line), 1023);
    assert_ptr_equal(strchr(line, '\n'), line + 1022);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_levels), cmocka_unit_test(test_one_line) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
