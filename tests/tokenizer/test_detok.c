/* test_detok.c - ids to text: whole characters, whatever the pieces and the bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/num.h"
#include "base/rng.h"
#include "tokenizer/tokenizer.h"
#include "toy.h"

#define BAD "\xef\xbf\xbd"

static sl_tokenizer *tokenizer;

static int setup(void **state)
{
    (void)state;
    toy y;
    toy_fill(&y, "smollm");
    return sl_tokenizer_create(&tokenizer, &y.v, NULL) == SL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    sl_tokenizer_destroy(tokenizer);
    return 0;
}

/* Each id in turn gives exactly the next of `want`, the flush the last. */
static void expect_deltas(const int32_t *ids, size_t n, bool special, const char *const *want)
{
    sl_detok d;
    sl_str out = { 0 };
    sl_detok_init(&d, tokenizer, special);
    for (size_t i = 0; i <= n; i++) {
        sl_str_clear(&out);
        if (i < n)
            sl_detok_next(&d, ids[i], &out);
        else
            sl_detok_flush(&d, &out);
        assert_string_equal(out.len ? out.data : "", want[i]);
    }
    sl_str_fini(&out);
}
#define IDS(...) (const int32_t[]){ __VA_ARGS__ }, sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)
#define DELTAS(...)                                                                                                    \
    (const char *const[])                                                                                              \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* Bug report B68. */
static void an_emoji_of_three_tokens(void **state)
{
    (void)state;
    expect_deltas(IDS(0xf0, 0x9f, 0xa4, 0xa3), false, DELTAS("", "", "", "\xf0\x9f\xa4\xa3", ""));
}

/* Bug report B64: 访问, 搜索, 预报 byte by byte are the text of the whole list. */
static void chinese_in_byte_pieces(void **state)
{
    (void)state;
    const char *text = "\xe8\xae\xbf\xe9\x97\xae, \xe6\x90\x9c\xe7\xb4\xa2, \xe9\xa2\x84\xe6\x8a\xa5";
    sl_detok d;
    sl_str out = { 0 };
    sl_detok_init(&d, tokenizer, false);
    for (const char *p = text; *p; p++)
        sl_detok_next(&d, (unsigned char)*p, &out);
    sl_detok_flush(&d, &out);
    assert_string_equal(out.data, text);
    sl_str_fini(&out);
}

/* Bug report B65: the open end of a prompt joins the first new token. */
static void a_prompt_that_ends_in_half_a_character(void **state)
{
    (void)state;
    expect_deltas(IDS(TOY_AB, 0xe2, 0x82, 0xac, 'x'), false, DELTAS("ab", "", "", "\xe2\x82\xac", "x", ""));
}

/* Bug report B67: one mark for each maximal bad part, and the text after it intact. */
static void bytes_that_never_become_a_character(void **state)
{
    (void)state;
    expect_deltas(IDS(0xc0, 0x80, 'a'), false, DELTAS(BAD, BAD, "a", ""));
    expect_deltas(IDS(0xed, 0xa0, 0x80, 'a'), false, DELTAS("", BAD BAD, BAD, "a", ""));
    expect_deltas(IDS(0xf4, 0x90, 0x80, 0x80, 'a'), false, DELTAS("", BAD BAD, BAD, BAD, "a", ""));
    expect_deltas(IDS('a', 0xf0), false, DELTAS("a", "", BAD));
    expect_deltas(IDS(0xf0, 0x9f, 0xa4, 'a'), false, DELTAS("", "", "", BAD "a", ""));
    expect_deltas(IDS(0xf0, 0x9f, 0xf0, 0x9f, 0xa4, 0xa3), false, DELTAS("", "", BAD, "", "", "\xf0\x9f\xa4\xa3", ""));
    expect_deltas(IDS(0xe2, TOY_AB), false, DELTAS("", BAD "ab", ""));
    expect_deltas(IDS(0xe2, 0xe2), false, DELTAS("", BAD, BAD));
    expect_deltas(IDS(0xff, 0xf5, 0xc1), false, DELTAS(BAD, BAD, BAD, ""));
}

static void control_tokens_show_on_demand(void **state)
{
    (void)state;
    expect_deltas(IDS(TOY_BOS, 'a', TOY_THINK, TOY_IM_END), false, DELTAS("", "a", "<think>", "", ""));
    expect_deltas(IDS(TOY_BOS, 'a', TOY_THINK, TOY_IM_END), true, DELTAS("<s>", "a", "<think>", "<|im_end|>", ""));
    /* A hidden token does not cut a character in two; one that shows does. */
    expect_deltas(IDS(0xc3, TOY_BOS, 0xa9), false, DELTAS("", "", "\xc3\xa9", ""));
    expect_deltas(IDS(0xc3, TOY_BOS, 0xa9), true, DELTAS("", BAD "<s>", BAD, ""));
    expect_deltas(IDS(-5, 'a', 100000), true, DELTAS("", "a", "", ""));
}

/* By the definition of WHATWG's decoder, written another way: at each place the longest start
 * of a character counts. */
static void decode_by_definition(const unsigned char *s, size_t n, sl_str *out)
{
    for (size_t i = 0; i < n;) {
        const unsigned c = s[i];
        const size_t need = c < 0x80                 ? 1
                            : c >= 0xc2 && c <= 0xdf ? 2
                            : (c & 0xf0) == 0xe0     ? 3
                            : c >= 0xf0 && c <= 0xf4 ? 4
                                                     : 0;
        size_t k = 1;
        for (; k < need && i + k < n && (s[i + k] & 0xc0) == 0x80; k++) {
            const unsigned first = s[i + 1];
            if (k == 1 && ((c == 0xe0 && first < 0xa0) || (c == 0xed && first > 0x9f) || (c == 0xf0 && first < 0x90) ||
                           (c == 0xf4 && first > 0x8f)))
                break;
        }
        if (k == need)
            sl_str_append(out, (const char *)s + i, need);
        else
            sl_str_puts(out, BAD);
        i += k;
    }
}

static void random_bytes_in_any_pieces(void **state)
{
    (void)state;
    static const unsigned char pool[] = { 'a',  0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xdf,
                                          0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf3, 0xf4, 0xf5, 0xff };
    uint64_t draw = 0;
    for (unsigned round = 0; round < 20000; round++) {
        unsigned char s[12];
        const size_t n = sl_rng_u64(3, draw++) % sizeof s;
        sl_str want = { 0 }, got = { 0 };
        sl_detok d;
        sl_detok_init(&d, tokenizer, false);
        for (size_t i = 0; i < n; i++)
            s[i] = pool[sl_rng_u64(3, draw++) % sizeof pool];
        decode_by_definition(s, n, &want);
        for (size_t i = 0; i < n; i++)
            sl_detok_next(&d, s[i], &got);
        sl_detok_flush(&d, &got);
        assert_int_equal(got.len, want.len);
        if (want.len > 0)
            assert_memory_equal(got.data, want.data, want.len);
        sl_str_fini(&want);
        sl_str_fini(&got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_emoji_of_three_tokens),
        cmocka_unit_test(chinese_in_byte_pieces),
        cmocka_unit_test(a_prompt_that_ends_in_half_a_character),
        cmocka_unit_test(bytes_that_never_become_a_character),
        cmocka_unit_test(control_tokens_show_on_demand),
        cmocka_unit_test(random_bytes_in_any_pieces),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
