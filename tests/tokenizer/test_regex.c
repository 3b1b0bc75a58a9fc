/* test_regex.c - what patterns match. Expectations come from the `tokenizers` library 0.23.3
 * (Oniguruma, Unicode 16), those of Rust's dialect from PyPI tiktoken 0.14 (fancy-regex). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/num.h"
#include "base/str.h"
#include "tokenizer/regex.h"
#include "tokenizer/unicode.h"

static size_t count(const char *name)
{
    sl_charset s = { 0 };
    size_t n = 0;
    assert_true(sl_unicode_property(&s, name, strlen(name)));
    sl_charset_settle(&s);
    for (size_t i = 0; i < s.n; i++) {
        assert_true(s.range[i].first <= s.range[i].last && s.range[i].last < SL_UNICODE_END);
        assert_true(i == 0 || s.range[i].first > s.range[i - 1].last + 1);
        n += s.range[i].last - s.range[i].first + 1;
        /* The table of categories puts surrogates with what is before them. */
        if (s.range[i].first <= 0xd800 && s.range[i].last >= 0xdfff)
            n -= 0x800;
    }
    sl_charset_fini(&s);
    return n;
}

/* As counted in the reference engine. */
static void properties_have_their_members(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t n;
    } want[] = {
        { "L", 141028 },       { "N", 1911 },
        { "P", 855 },          { "Punct", 855 },
        { "Space", 25 },       { "rust_numeric", 1924 },
        { "Han", 99030 },      { "Hani", 99030 },
        { "S", 8514 },         { "Alphabetic", 142759 },
        { "Alnum", 143519 },   { "Graph", 292447 },
        { "Blank", 18 },       { "Upper", 1978 },
        { "Lower", 2569 },     { "Decimal_Number", 760 },
        { "ASCII", 128 },      { "Common", 9053 },
        { "White Space", 25 }, { "Any", 0x110000 - 0x800 },
    };
    for (size_t i = 0; i < SL_COUNT(want); i++)
        if (count(want[i].name) != want[i].n)
            fail_msg("\\p{%s} has %zu members, not %zu", want[i].name, count(want[i].name), want[i].n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_have_their_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
