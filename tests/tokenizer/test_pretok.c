/* test_pretok.c - where each pattern cuts. The same against the reference and at random:
 * differential.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/str.h"
#include "tokenizer/pretok.h"
#include "tokenizer/utf8.h"

static sl_status append_piece(void *arg, const char *piece, size_t len, sl_err *err)
{
    (void)err;
    sl_str_append(arg, piece, len);
    sl_str_puts(arg, "/");
    return SL_OK;
}

/* `want`: the pieces, each with a slash behind it. */
static void expect_pieces(const char *pre, const char *text, const char *want)
{
    sl_pretok *p = NULL;
    sl_pretok_work w = { 0 };
    sl_str got = { 0 };
    size_t n_chars = 0;
    assert_int_equal(sl_pretok_create(&p, &(sl_vocab){ .pre = pre }, NULL), SL_OK);
    assert_int_equal(sl_utf8_valid(text, strlen(text), &n_chars), strlen(text));
    assert_int_equal(sl_pretok_split(p, &w, text, strlen(text), n_chars, true, append_piece, &got, NULL), SL_OK);
    assert_string_equal(got.len ? got.data : "", want);
    sl_str_fini(&got);
    sl_pretok_work_fini(&w);
    sl_pretok_destroy(p);
}

static void gpt2(void **state)
{
    (void)state;
    expect_pieces("gpt-2", "", "");
    expect_pieces("gpt-2", "I'm  here, 2024!", "I/'m/ / here/,/ 2024/!/");
    expect_pieces("gpt-2", "I'M", "I/'/M/");
    expect_pieces("gpt-2", "a \n\n b", "a/ \n\n/ b/");
    expect_pieces("gpt-2", "a\n\n", "a/\n\n/");
    expect_pieces("gpt-2", "\u00e9t\u00e9 \u4f60\u597d\u3002", "\u00e9t\u00e9/ \u4f60\u597d/\u3002/");
}

static void smollm(void **state)
{
    (void)state;
    expect_pieces("smollm", "in 2024 \u00bd\u2167", "in/ /2/0/2/4/ /\u00bd/\u2167/");
    expect_pieces("smollm", "a  1", "a/  /1/"); /* the digit ends the piece that \s+(?!\S) sees */
    expect_pieces("smollm", "\U00011de3\U00011de3", "\U00011de3/\U00011de3/"); /* digits of Unicode 17 */
}

static void qwen2(void **state)
{
    (void)state;
    /* Bug report B40: runs of punctuation stay whole, digits never do. */
    expect_pieces("qwen2", "->", "->/");
    expect_pieces("qwen2", "f(x):\n 12", "f/(x/):\n/ /1/2/");
    expect_pieces("qwen2", "I'LL we'Re it's", "I/'LL/ we/'Re/ it/'s/");
    expect_pieces("qwen2", "a'\u017fb", "a/'\u017f/b/"); /* the long s is an s when case is ignored */
    expect_pieces("qwen2", "a \r\n\n b\t\tc", "a/ \r\n\n/ b/\t/\tc/");
    expect_pieces("qwen2", "\u0661\u0662\u0663", "\u0661/\u0662/\u0663/");
    expect_pieces("qwen2", "\U00031350\u180e\u3000x",
                  "\U00031350/\u180e/\u3000x/"); /* Unicode 15; not a space; a space */
}

static void three_digits(void **state)
{
    (void)state;
    expect_pieces("llama-bpe", "1234567", "123/456/7/");
    expect_pieces("llama-bpe", " 1234", " /123/4/");
    expect_pieces("dbrx", "1234567", "123/456/7/");
}

static void old_files(void **state)
{
    (void)state;
    expect_pieces("default", "a+b (c)!? 12345", "a/+/b/ /(/c/)!?/ /123/45/");
    expect_pieces("default", "don't", "don/'/t/");
    expect_pieces("default", "\u00a1x\u20ac 1\u00bd", "\u00a1/x/\u20ac/ /1\u00bd/");
}

static sl_status stop_at_second(void *arg, const char *piece, size_t len, sl_err *err)
{
    (void)piece;
    (void)len;
    (void)err;
    return ++*(int *)arg == 2 ? SL_ECANCELED : SL_OK;
}

static void the_callers_status_ends_it(void **state)
{
    (void)state;
    sl_pretok *p = NULL;
    sl_pretok_work w = { 0 };
    int n = 0;
    assert_int_equal(sl_pretok_create(&p, &(sl_vocab){ .pre = "default" }, NULL), SL_OK);
    assert_int_equal(sl_pretok_split(p, &w, "a b c d", 7, 7, true, stop_at_second, &n, NULL), SL_ECANCELED);
    assert_int_equal(n, 2);
    sl_pretok_work_fini(&w);
    sl_pretok_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2),         cmocka_unit_test(smollm),    cmocka_unit_test(qwen2),
        cmocka_unit_test(three_digits), cmocka_unit_test(old_files), cmocka_unit_test(the_callers_status_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
