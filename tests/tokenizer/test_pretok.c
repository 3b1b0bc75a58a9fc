/* test_pretok.c - where each pattern cuts and what each step does. The same against the reference,
 * at random and over all code points: pretok_differential.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
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

/* --- steps ------------------------------------------------------------------------------- */

/* Expectations: the `tokenizers` library 0.23.3. */
static void expect_steps(const sl_pretok_step *steps, size_t n, bool first, const char *text, const char *want)
{
    sl_pretok *p = NULL;
    sl_pretok_work w = { 0 };
    sl_str got = { 0 };
    sl_err err = { 0 };
    size_t n_chars = 0;
    const sl_vocab v = { .pretoks = (sl_pretok_step *)steps, .n_pretoks = n };
    if (sl_pretok_create(&p, &v, &err) != SL_OK)
        fail_msg("%s", err.msg);
    sl_utf8_valid(text, strlen(text), &n_chars);
    assert_int_equal(sl_pretok_split(p, &w, text, strlen(text), n_chars, first, append_piece, &got, &err), SL_OK);
    assert_string_equal(got.len ? got.data : "", want);
    sl_str_fini(&got);
    sl_pretok_work_fini(&w);
    sl_pretok_destroy(p);
}
#define EXPECT_STEPS(text, want, ...)                                                                                  \
    expect_steps((const sl_pretok_step[]){ __VA_ARGS__ },                                                              \
                 sizeof((const sl_pretok_step[]){ __VA_ARGS__ }) / sizeof(sl_pretok_step), true, text, want)
#define LITERAL(c)                                                                                                     \
    {                                                                                                                  \
        .pattern = { c, sizeof(c) - 1 }, .behavior = SL_SPLIT_ISOLATED                                                 \
    }
#define PATTERN(c)                                                                                                     \
    {                                                                                                                  \
        .pattern = { c, sizeof(c) - 1 }, .regex = true, .behavior = SL_SPLIT_ISOLATED                                  \
    }
#define BYTES                                                                                                          \
    {                                                                                                                  \
        .kind = SL_PRETOK_BYTE_LEVEL                                                                                   \
    }
#define METASPACE(scheme)                                                                                              \
    {                                                                                                                  \
        .kind = SL_PRETOK_METASPACE, .text = { "\u2581", 3 }, .prepend = scheme                                        \
    }
#define AT_MARKS                                                                                                       \
    {                                                                                                                  \
        .pattern = { "\u2581", 3 }, .behavior = SL_SPLIT_MERGED_WITH_NEXT                                              \
    }

static void what_becomes_of_a_match(void **state)
{
    (void)state;
    static const struct {
        sl_split_behavior behavior;
        bool invert;
        const char *text, *want;
    } c[] = {
        { SL_SPLIT_REMOVED, false, "--a-b--\u00e9-", "a/b/\u00e9/" },
        { SL_SPLIT_REMOVED, true, "--a-b--\u00e9-", "-/-/-/-/-/-/" },
        { SL_SPLIT_ISOLATED, false, "--a-b--\u00e9-", "-/-/a/-/b/-/-/\u00e9/-/" },
        { SL_SPLIT_ISOLATED, true, "--a-b--\u00e9-", "-/-/a/-/b/-/-/\u00e9/-/" },
        { SL_SPLIT_MERGED_WITH_PREVIOUS, false, "--a-b--\u00e9-", "-/-/a-/b-/-/\u00e9-/" },
        { SL_SPLIT_MERGED_WITH_PREVIOUS, true, "--a-b--\u00e9-", "-/-a/-b/-/-\u00e9/-/" },
        { SL_SPLIT_MERGED_WITH_NEXT, false, "--a-b--\u00e9-", "-/-a/-b/-/-\u00e9/-/" },
        { SL_SPLIT_MERGED_WITH_NEXT, true, "--a-b--\u00e9-", "-/-/a-/b-/-/\u00e9-/" },
        { SL_SPLIT_CONTIGUOUS, false, "--a-b--\u00e9-", "--/a/-/b/--/\u00e9/-/" },
        { SL_SPLIT_CONTIGUOUS, true, "--a-b--\u00e9-", "--/a/-/b/--/\u00e9/-/" },
    };
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++)
        EXPECT_STEPS(c[i].text, c[i].want, { .pattern = { "-", 1 }, .behavior = c[i].behavior, .invert = c[i].invert });
}

/* Bug report B32: every step of a list, in order. Behind BYTE_LEVEL patterns see the alphabet. */
static void steps_run_in_order(void **state)
{
    (void)state;
    expect_pieces("falcon", "wait... 12345, ok?!", "wait/.../ /123/45/,/ ok/?!/");
    expect_pieces("falcon", "x\u00b2 1234\u00bd\u00e92", "x/\xc2/\xb2/ /123/4/\xc2/\xbd/\u00e9/2/");
    EXPECT_STEPS("a \u00c3 \u00e9", "a/ /\xc3/\x83/ /\xc3/\xa9/", BYTES, PATTERN("\\p{Lu}|\u0120"));
    EXPECT_STEPS("a\u00e9\u4e2d", "a\xc3/\xa9\xe4/\xb8\xad/", BYTES, { .kind = SL_PRETOK_CHUNKS, .length = 2 });
    EXPECT_STEPS("a\u00e9\u4e2dbc", "a\u00e9/\u4e2db/c/", { .kind = SL_PRETOK_CHUNKS, .length = 2 });
    /* A pattern sees a piece as if it were the whole text. */
    EXPECT_STEPS("ab", "a/b/", LITERAL("a"), PATTERN("\\bb|a\\b"));
}

static void steps_change_characters(void **state)
{
    (void)state;
    EXPECT_STEPS("a  b c", "\u2581a/\u2581/\u2581b/\u2581c/", METASPACE(SL_PREPEND_ALWAYS), AT_MARKS);
    EXPECT_STEPS(" a", "\u2581a/", METASPACE(SL_PREPEND_ALWAYS), AT_MARKS);
    EXPECT_STEPS("\u2581a", "\u2581a/", METASPACE(SL_PREPEND_ALWAYS), AT_MARKS);
    EXPECT_STEPS("a b", "a/\u2581b/", METASPACE(SL_PREPEND_NEVER), AT_MARKS);
    EXPECT_STEPS("a ba", "\u2581a\u2581/b/a/", LITERAL("b"), METASPACE(SL_PREPEND_FIRST));
    EXPECT_STEPS("a b\t\u00e9", " a / b/ \t\u00e9/", LITERAL("b"), { .kind = SL_PRETOK_PREFIX_SPACE }, BYTES);
    const sl_pretok_step first[] = { METASPACE(SL_PREPEND_FIRST) };
    expect_steps(first, 1, true, "a", "\u2581a/");
    expect_steps(first, 1, false, "a", "a/");
    expect_steps(NULL, 0, true, "a b", "a b/");
}

static void expect_refused(const sl_pretok_step *steps, size_t n, sl_status code, const char *part)
{
    sl_pretok *p = NULL;
    sl_err err = { 0 };
    const sl_vocab v = { .pretoks = (sl_pretok_step *)steps, .n_pretoks = n };
    assert_int_equal(sl_pretok_create(&p, &v, &err), code);
    if (!strstr(err.msg, part))
        fail_msg("\"%s\" does not say \"%s\"", err.msg, part);
    assert_null(p);
}

static void steps_that_cannot_be_run_are_refused(void **state)
{
    (void)state;
    const sl_pretok_step many[33] = { 0 }, changes[] = { { .kind = SL_PRETOK_PREFIX_SPACE },
                                                         { .kind = SL_PRETOK_PREFIX_SPACE },
                                                         { .kind = SL_PRETOK_PREFIX_SPACE },
                                                         { .kind = SL_PRETOK_PREFIX_SPACE },
                                                         BYTES };
    const sl_pretok_step twice[] = { BYTES, BYTES }, behind[] = { BYTES, METASPACE(SL_PREPEND_NEVER) };
    const sl_pretok_step empty[] = { { .kind = SL_PRETOK_CHUNKS } }, bad[] = { PATTERN("a"), PATTERN("b\\K") };
    expect_refused(many, 33, SL_EUNSUPPORTED, "33 steps");
    expect_refused(changes, 5, SL_EUNSUPPORTED, "more than 4 steps change");
    expect_refused(twice, 2, SL_EUNSUPPORTED, "step 2 changes characters behind ByteLevel");
    expect_refused(behind, 2, SL_EUNSUPPORTED, "step 2 changes characters behind ByteLevel");
    expect_refused(empty, 1, SL_EFORMAT, "step 1: pieces of 0 characters");
    expect_refused(bad, 2, SL_EUNSUPPORTED, "pre-tokenizer: pattern 2: column 2: \\K");
}

/* --- names ------------------------------------------------------------------------------- */

/* Bug report B41: names that mean the same pattern are known too; all of llama.cpp's compile. */
static void every_name_works(void **state)
{
    (void)state;
    static const char names[] =
        "default llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano deepseek-llm "
        "deepseek-coder deepseek-v3 deepseek-v3.1 youtu falcon mpt starcoder gpt-2 phi-2 jina-es jina-de gigachat "
        "jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jais-2 jina-v1-en jina-v2-code roberta-bpe refact command-r "
        "qwen2 deepseek-r1-qwen kormo f2llmv2 qwen35 stablelm2 olmo dbrx smaug-bpe poro-chat glm4 chatglm-bpe viking "
        "jais tekken smollm codeshell bloom gpt3-finnish exaone exaone4 exaone-moe chameleon minerva-7b megrez gpt-4o "
        "llama4 kanana2 talkie granite-embed-multi-97m tiny_aya cohere2moe superbpe trillion granite-docling "
        "bailingmoe "
        "bailingmoe2 llada-moe seed-coder hunyuan hunyuan-dense joyai-llm kimi-k2 grok-2 afmoe laguna minimax-m2 "
        "solar-open mellum2 minicpm5 spark2_5 hy_v4 ufakzeka";
    char name[64];
    for (const char *at = names; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        sl_pretok *p = NULL;
        sl_err err = { 0 };
        if (sl_pretok_create(&p, &(sl_vocab){ .pre = name }, &err) != SL_OK)
            fail_msg("%s: %s", name, err.msg);
        sl_pretok_destroy(p);
        at += n;
    }
    assert_true(sl_vocab_pre_adds_bos("llama-bpe") && sl_vocab_pre_adds_bos("tekken"));
    assert_false(sl_vocab_pre_adds_bos("qwen2") || sl_vocab_pre_adds_bos("no-such"));
}

/* Bug report B38 among them: a slash behind a newline and numerals of Han. */
static void published_patterns(void **state)
{
    (void)state;
    expect_pieces("kimi-k2", "}\n/// doc", "}\n///// doc/");
    expect_pieces("kimi-k2", "\u4e8c\u3007\u4e8c\u516d\u5e74", "\u4e8c\u3007\u4e8c\u516d\u5e74/");
    expect_pieces("kimi-k2", "Don't\u4e16\u754c", "Don't/\u4e16\u754c/");
    expect_pieces("gpt-4o", "}\n/// doc HelloWORLD's 1234", "}\n//// doc/ Hello/WORLD's/ /123/4/");
    expect_pieces("tekken", "Hello'S 12/\n", "Hello/'S/ /1/2//\n/");
    expect_pieces("deepseek-v3", ".foo 12345 \u4e2d\u6587\u304b\u306a!\n\n x",
                  ".foo/ /123/45/ /\u4e2d\u6587\u304b\u306a/!\n\n/ x/");
    expect_pieces("bloom", "Hello, world! (x)", "Hello/,/ world/! (/x/)/");
    expect_pieces("qwen35", "e\u0301 \u0301x 12", "e\u0301/ \u0301x/ /1/2/");
    expect_pieces("exaone-moe", "a b c d1 !/\n", "a b c d/1/ !/\n/");
    expect_pieces("bailingmoe", "'S x  \n\ny", "'S/ x/  \n\n/y/");
    expect_pieces("superbpe", "a 1234567 b", "a /1/234/567/ b/");
    expect_pieces("tiny_aya", "1234567 x", "1/234/567/ x/");
    expect_pieces("afmoe", "12345 \u4e2d\u6587x", "12/345/ /\u4e2d\u6587/x/");
    expect_pieces("chameleon", "IMGIMGABZ\t12..x", "IMGIMGABZ/\t/1/2/././x/");
    expect_pieces("viking", "ab, 12x", "ab/,/ /1/2/x/");
    expect_pieces("deepseek-coder", "a b,c\n12\u4e2d", "a/ b/,/c/\n/1/2/\u4e2d/");
    expect_pieces("smollm", "in 12", "in/ /1/2/");
}

static sl_status count_piece(void *arg, const char *piece, size_t len, sl_err *err)
{
    (void)piece;
    (void)err;
    *(size_t *)arg += len;
    return SL_OK;
}

/* A million of the same, and then something else: quadratic time would take hours. */
static void long_runs_take_linear_time(void **state)
{
    (void)state;
    static const char *const names[] = { "gpt-2",       "qwen2",        "gpt-4o",    "kimi-k2",
                                         "deepseek-v3", "deepseek-llm", "exaone-moe" };
    static const char *const units[] = { "a", "A", " ", "\n", "1", "!", "\u4e2d", "\u0301", "\u3000" };
    enum { N = 1000000 };
    char *text = malloc(4 * N);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sl_pretok *p = NULL;
        sl_pretok_work w = { 0 };
        assert_int_equal(sl_pretok_create(&p, &(sl_vocab){ .pre = names[i] }, NULL), SL_OK);
        for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
            const size_t unit = strlen(units[u]);
            size_t seen = 0;
            for (size_t k = 0; k < N; k++)
                memcpy(text + k * unit, units[u], unit);
            text[N * unit] = '\1';
            assert_int_equal(sl_pretok_split(p, &w, text, N * unit + 1, N + 1, true, count_piece, &seen, NULL), SL_OK);
            assert_int_equal(seen, N * unit + 1);
        }
        sl_pretok_work_fini(&w);
        sl_pretok_destroy(p);
    }
    free(text);
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
        cmocka_unit_test(gpt2),
        cmocka_unit_test(smollm),
        cmocka_unit_test(qwen2),
        cmocka_unit_test(three_digits),
        cmocka_unit_test(old_files),
        cmocka_unit_test(the_callers_status_ends_it),
        cmocka_unit_test(what_becomes_of_a_match),
        cmocka_unit_test(steps_run_in_order),
        cmocka_unit_test(steps_change_characters),
        cmocka_unit_test(steps_that_cannot_be_run_are_refused),
        cmocka_unit_test(every_name_works),
        cmocka_unit_test(published_patterns),
        cmocka_unit_test(long_runs_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
