/* test_stop.c - stop strings: every way to cut the text into pieces gives the same result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/stop.h"

#define MAX_STOPS 4

typedef struct stop_case {
    const char *stops[MAX_STOPS]; /* NULL: none */
    const char *text, *shown;
    int met;
} stop_case;

/* Knowing nothing of pieces: the match that ends first, the longest of those that end there. */
static int met_by_definition(const char *const *stops, size_t n, const char *text, size_t *shown)
{
    for (size_t end = 1; end <= strlen(text); end++) {
        int met = -1;
        for (size_t k = 0; k < n; k++) {
            const size_t len = strlen(stops[k]);
            if (len <= end && memcmp(text + end - len, stops[k], len) == 0 && (met < 0 || len > strlen(stops[met])))
                met = (int)k;
        }
        if (met >= 0) {
            *shown = end - strlen(stops[met]);
            return met;
        }
    }
    *shown = strlen(text);
    return -1;
}

/* Feed `text` in pieces: bit i of `cuts` cuts after byte i. */
static int feed_pieces(sl_stop *s, const char *text, uint32_t cuts, sl_str *out)
{
    const size_t len = strlen(text);
    size_t begin = 0;
    sl_stop_reset(s);
    sl_str_clear(out);
    for (size_t i = 0; i < len; i++) {
        if (i + 1 < len && !(cuts >> i % 32 & 1))
            continue;
        const int met = sl_stop_feed(s, text + begin, i + 1 - begin, out);
        if (met >= 0)
            return met;
        begin = i + 1;
    }
    sl_stop_flush(s, out);
    return -1;
}

static void check(const char *const *stops, size_t n, const char *text, uint32_t cuts, const char *shown,
                  size_t n_shown, int met)
{
    sl_stop *s = NULL;
    sl_str out = { 0 };
    assert_int_equal(sl_stop_create(&s, stops, n, NULL), SL_OK);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(feed_pieces(s, text, cuts, &out), met);
        assert_int_equal(out.len, n_shown);
        assert_memory_equal(out.data ? out.data : "", shown, n_shown);
    }
    sl_stop_destroy(s);
    sl_str_fini(&out);
}

static void test_cases(void **state)
{
    (void)state;
    static const stop_case cases[] = {
        { { 0 }, "no stop strings: all passes", "no stop strings: all passes", -1 },
        { { "DEFGHIJ" }, "DEFGHIJ", "", 0 },                  /* B71: no prefix of it leaks */
        { { "<|eot_id|> assistant" }, "pleas", "pleas", -1 }, /* B73: what was held comes out at the end */
        { { "gamma" }, " alpha gammaX", " alpha ", 0 },       /* B74: inside one token */
        { { "<|im_end|>" }, "yes<|im_end|>\n", "yes", 0 },    /* B76: over two chunks */
        { { "abcd", "bc" }, "abcd", "a", 1 },                 /* the one that ends first */
        { { "c", "abc", "bc" }, "xabc", "x", 1 },             /* together: the longest */
        { { "aab" }, "aaab", "a", 0 },                        /* a match that begins inside a failed one */
        { { "abab", "bac" }, "xababac", "x", 0 },             /* ends first */
        { { "\n\n" }, "a\nb\n\nc", "a\nb", 0 },
        { { "é" }, "caf\xc3\xa8 caf\xc3\xa9", "caf\xc3\xa8 caf", 0 }, /* a shared first byte */
        { { "stop" }, "sto", "sto", -1 },
        { { "aaaa" }, "aaabaaab", "aaabaaab", -1 },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        const stop_case *c = &cases[i];
        size_t n = 0;
        while (n < MAX_STOPS && c->stops[n])
            n++;
        for (uint32_t cuts = 0; cuts < 1024; cuts++) {
            check(c->stops, n, c->text, cuts, c->shown, strlen(c->shown), c->met);
            check(c->stops, n, c->text, ~cuts, c->shown, strlen(c->shown), c->met);
        }
    }
}

/* Texts and stop strings over two letters, so that everything overlaps. */
static void test_against_definition(void **state)
{
    (void)state;
    uint32_t x = 1;
    for (int round = 0; round < 20000; round++) {
        char words[3][8] = { 0 }, text[33] = { 0 };
        const char *stops[3] = { words[0], words[1], words[2] };
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < 1 + (k + (size_t)round) % 6; i++) {
                x = x * 1664525u + 1013904223u;
                words[k][i] = x >> 31 ? 'a' : 'b';
            }
        for (size_t i = 0; i < 32; i++) {
            x = x * 1664525u + 1013904223u;
            text[i] = x >> 31 ? 'a' : 'b';
        }
        size_t shown = 0;
        const size_t n = 1 + (size_t)round % 3;
        const int met = met_by_definition(stops, n, text, &shown);
        check(stops, n, text, x, text, shown, met < 0 ? -1 : met);
    }
}

static void test_passes_at_once(void **state)
{
    (void)state;
    sl_stop *s = NULL;
    sl_str out = { 0 };
    const char *stops[] = { "END" };
    assert_int_equal(sl_stop_create(&s, stops, 1, NULL), SL_OK);
    assert_int_equal(sl_stop_feed(s, "text E", 6, &out), -1);
    assert_string_equal(out.data, "text "); /* only what may become END waits */
    assert_int_equal(sl_stop_feed(s, "ast", 3, &out), -1);
    assert_string_equal(out.data, "text East");
    assert_int_equal(sl_stop_feed(s, "EN", 2, &out), -1);
    sl_stop_flush(s, &out);
    assert_string_equal(out.data, "text EastEN");
    sl_stop_destroy(s);
    sl_str_fini(&out);
}

static void test_refused(void **state)
{
    (void)state;
    sl_stop *s = NULL;
    sl_err err = { 0 };
    const char *stops[] = { "a", "" };
    assert_int_equal(sl_stop_create(&s, stops, 2, &err), SL_EINVAL);
    assert_null(s);
    assert_non_null(strstr(err.msg, "empty"));
    for (long n = 0; n < 3; n++) {
        sl_mem_fail_after(n);
        const sl_status rc = sl_stop_create(&s, stops, 1, &err);
        sl_mem_fail_after(-1);
        assert_true(rc == SL_OK || (rc == SL_ENOMEM && !s));
        assert_true(n > 0 || rc == SL_ENOMEM);
        sl_stop_destroy(s);
        s = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_against_definition),
        cmocka_unit_test(test_passes_at_once),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
