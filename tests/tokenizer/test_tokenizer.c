/* test_tokenizer.c - making a tokenizer, and text to ids, on a vocabulary made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/tokenizer.h"
#include "toy.h"

static sl_tokenizer *make(const sl_vocab *v)
{
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    if (sl_tokenizer_create(&t, v, &err) != SL_OK)
        fail_msg("%s", err.msg);
    return t;
}

static void expect_ids(const sl_tokenizer *t, const char *text, size_t len, unsigned flags, const int32_t *want,
                       size_t n)
{
    sl_ids ids = { 0 };
    sl_err err = { 0 };
    assert_int_equal(sl_tokenize(t, text, len, flags, &ids, &err), SL_OK);
    assert_int_equal(ids.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ids.data[i], want[i]);
    sl_ids_fini(&ids);
}
#define EXPECT(t, text, flags, ...)                                                                                    \
    expect_ids(t, text, sizeof(text) - 1, flags, (const int32_t[]){ __VA_ARGS__ },                                     \
               sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))

static void expect_refused(const sl_vocab *v, sl_status code, const char *part)
{
    sl_tokenizer *t = (sl_tokenizer *)v; /* must become NULL */
    sl_err err = { 0 };
    assert_int_equal(sl_tokenizer_create(&t, v, &err), code);
    assert_null(t);
    assert_int_equal(err.code, code);
    if (!strstr(err.msg, part))
        fail_msg("\"%s\" does not say \"%s\"", err.msg, part);
}

/* --- making ------------------------------------------------------------------------------ */

/* Bug report B41: a name that is not known is never guessed at. */
static void unknown_pre_tokenizers_are_refused_with_the_list(void **state)
{
    (void)state;
    static const char *const names[] = { "no-such", "", "qwen", "smollm starcoder", "qwen2 " };
    toy y;
    for (size_t i = 0; i < SL_COUNT(names); i++) {
        toy_fill(&y, names[i]);
        expect_refused(&y.v, SL_EUNSUPPORTED, names[i]);
        expect_refused(&y.v, SL_EUNSUPPORTED, "smollm");
        expect_refused(&y.v, SL_EUNSUPPORTED, "qwen2");
        expect_refused(&y.v, SL_EUNSUPPORTED, "ufakzeka"); /* the end of the list */
    }
}

static void every_known_name_works(void **state)
{
    (void)state;
    static const char *const names[] = { "gpt-2",      "gpt2",  "phi-2",  "smollm",    "starcoder",
                                         "minerva-7b", "qwen2", "grok-2", "megrez",    "llama-bpe",
                                         "llama3",     "lfm2",  "dbrx",   "smaug-bpe", "default" };
    for (size_t i = 0; i < SL_COUNT(names); i++) {
        toy y;
        toy_fill(&y, names[i]);
        sl_tokenizer *t = make(&y.v);
        EXPECT(t, "abcd", 0, TOY_ABCD);
        sl_tokenizer_destroy(t);
    }
}

static void broken_vocabularies_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *left, *right, *part;
    } merges[] = { { "", "ab", "merge 2 \" ab\": its left part" },
                   { "ab", "", "merge 2 \"ab \": its right part" },
                   { "xx", "b", "its left part" },
                   { "a", "yy", "merge 2 \"a yy\": its right part" },
                   { "c", "a", "what it makes is not a token" },
                   { "\xff", "b", "its left part" } };
    toy y;
    for (size_t i = 0; i < SL_COUNT(merges); i++) {
        toy_fill(&y, "smollm");
        y.merges[2] = (struct sl_vocab_merge){ { merges[i].left, strlen(merges[i].left) },
                                               { merges[i].right, strlen(merges[i].right) } };
        expect_refused(&y.v, SL_EFORMAT, merges[i].part);
    }
    toy_fill(&y, "smollm");
    y.v.eos = TOY_N;
    expect_refused(&y.v, SL_EFORMAT, "eos token 267, but there are 267 tokens");
    toy_fill(&y, "smollm");
    y.v.pad = -2;
    expect_refused(&y.v, SL_EFORMAT, "padding token -2");
    toy_fill(&y, "smollm");
    toy_surround(&y, TOY_N, TOY_EOS);
    expect_refused(&y.v, SL_EFORMAT, "adds token 267 to a text, but there are 267 tokens");
    toy_fill(&y, "smollm");
    y.v.n_tokens = y.v.n_merges = y.v.n_added = 0;
    y.v.bos = y.v.eos = -1;
    expect_refused(&y.v, SL_EFORMAT, "no token stands for a single byte");
}

static void nothing_is_borrowed_from_the_vocabulary(void **state)
{
    (void)state;
    toy *y = malloc(sizeof *y);
    toy_fill(y, "smollm");
    sl_tokenizer *t = make(&y->v);
    memset(y, 0xa5, sizeof *y);
    free(y);
    EXPECT(t, "<s>abcd", SL_TOK_PARSE_SPECIAL, TOY_BOS, TOY_ABCD);
    sl_tokenizer_destroy(t);
}

static void look_ups(void **state)
{
    (void)state;
    toy y;
    toy_fill(&y, "smollm");
    y.v.eot = TOY_THINK;
    sl_tokenizer *t = make(&y.v);
    assert_int_equal(sl_tokenizer_size(t), TOY_N);
    assert_int_equal(sl_tokenizer_bos(t), TOY_BOS);
    assert_int_equal(sl_tokenizer_eos(t), TOY_EOS);
    for (int32_t id = 0; id < TOY_N; id++)
        assert_int_equal(sl_tokenizer_find(t, y.tokens[id].data, y.tokens[id].len), id);
    assert_int_equal(sl_tokenizer_find(t, "zz", 2), -1);
    assert_int_equal(sl_tokenizer_find(t, " a", 2), -1); /* stored with the alphabet's space */
    assert_int_equal(sl_tokenizer_find(t, "", 0), -1);
    assert_true(sl_tokenizer_ends(t, TOY_EOS));
    assert_true(sl_tokenizer_ends(t, TOY_IM_END)); /* by its text */
    assert_true(sl_tokenizer_ends(t, TOY_THINK));  /* named as the end of a turn */
    assert_false(sl_tokenizer_ends(t, TOY_BOS));
    assert_false(sl_tokenizer_ends(t, -1));

    assert_int_equal(sl_token_bytes(t, TOY_SPACE_A, false).len, 2);
    assert_memory_equal(sl_token_bytes(t, TOY_SPACE_A, false).data, " a", 2);
    assert_int_equal(sl_token_bytes(t, TOY_IM, false).len, 0);
    assert_int_equal(sl_token_bytes(t, TOY_IM, true).len, 12);
    assert_int_equal(sl_token_bytes(t, TOY_THINK, false).len, 7);
    assert_int_equal(sl_token_bytes(t, -1, true).len, 0);
    assert_int_equal(sl_token_bytes(t, TOY_N, true).len, 0);
    for (int32_t b = 0; b < 256; b++) {
        const sl_bytes one = sl_token_bytes(t, b, false);
        assert_int_equal(one.len, 1);
        assert_int_equal((unsigned char)one.data[0], b);
    }
    sl_tokenizer_destroy(t);
}

/* --- text to ids ------------------------------------------------------------------------- */

static void merges_follow_rank_then_place(void **state)
{
    (void)state;
    toy y;
    toy_fill(&y, "smollm");
    sl_tokenizer *t = make(&y.v);
    EXPECT(t, "abcd", 0, TOY_ABCD);
    EXPECT(t, "bcd", 0, 'b', TOY_CD); /* "c d" outranks "b c" */
    EXPECT(t, "bc", 0, TOY_BC);
    EXPECT(t, "abab", 0, TOY_AB, TOY_AB);
    EXPECT(t, "x a", 0, 'x', TOY_SPACE_A);
    EXPECT(t, "x ab", 0, 'x', ' ', TOY_AB); /* "a b" comes before "Ġ a" */
    EXPECT(t, "a b", 0, 'a', ' ', 'b');     /* no merge over the edge of a piece */
    expect_ids(t, "", 0, 0, NULL, 0);
    sl_tokenizer_destroy(t);
}

/* A name stands for its models' normalizer, too: an e and its accent are one character to Qwen. */
static void names_bring_their_normalizer(void **state)
{
    (void)state;
    toy y;
    static const char *const names[] = { "qwen2", "command-r", "mpt", "smollm", "gpt-2", "llama-bpe" };
    for (size_t i = 0; i < SL_COUNT(names); i++) {
        toy_fill(&y, names[i]);
        sl_tokenizer *t = make(&y.v);
        if (i < 3)
            EXPECT(t, "e\u0301", 0, 0xc3, 0xa9);
        else
            EXPECT(t, "e\u0301", 0, 'e', 0xcc, 0x81);
        sl_tokenizer_destroy(t);
    }
}

/* Bug report B44: the switch decides about control tokens; words of the user always count. */
static void specials_in_text(void **state)
{
    (void)state;
    toy y;
    toy_fill(&y, "smollm");
    toy_surround(&y, TOY_BOS, TOY_EOS);
    sl_tokenizer *t = make(&y.v);
    EXPECT(t, "<|im_start|>", SL_TOK_PARSE_SPECIAL, TOY_IM);
    EXPECT(t, "<|im_start|>", 0, '<', '|', 'i', 'm', '_', 's', 't', 'a', 'r', 't', '|', '>');
    EXPECT(t, "<|im_start|>user", SL_TOK_PARSE_SPECIAL, TOY_IM_LONG);
    EXPECT(t, "<|im_start|>use", SL_TOK_PARSE_SPECIAL, TOY_IM, 'u', 's', 'e');
    EXPECT(t, "<<s></s><s", SL_TOK_PARSE_SPECIAL, '<', TOY_BOS, TOY_EOS, '<', 's');
    EXPECT(t, "ab<|im_end|>cd", SL_TOK_PARSE_SPECIAL, TOY_AB, TOY_IM_END, TOY_CD);
    EXPECT(t, "a<think>b", 0, 'a', TOY_THINK, 'b');
    EXPECT(t, "a<think>b", SL_TOK_PARSE_SPECIAL, 'a', TOY_THINK, 'b');
    EXPECT(t, "ab", SL_TOK_ADD_SPECIAL, TOY_BOS, TOY_AB, TOY_EOS);
    EXPECT(t, "", SL_TOK_ADD_SPECIAL, TOY_BOS, TOY_EOS);
    EXPECT(t, "<s>", SL_TOK_ADD_SPECIAL, TOY_BOS, '<', 's', '>', TOY_EOS);
    sl_tokenizer_destroy(t);
}

static void ids_are_appended(void **state)
{
    (void)state;
    toy y;
    toy_fill(&y, "smollm");
    sl_tokenizer *t = make(&y.v);
    sl_ids ids = { 0 };
    assert_int_equal(sl_tokenize(t, "ab", 2, 0, &ids, NULL), SL_OK);
    assert_int_equal(sl_tokenize(t, "cd", 2, 0, &ids, NULL), SL_OK);
    assert_int_equal(ids.n, 2);
    assert_int_equal(ids.data[0], TOY_AB);
    assert_int_equal(ids.data[1], TOY_CD);
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(t);
}

static void bytes_that_are_not_utf8_stand_alone(void **state)
{
    (void)state;
    toy y;
    toy_fill(&y, "smollm");
    sl_tokenizer *t = make(&y.v);
    EXPECT(t,
           "ab\xff"
           "cd",
           0, TOY_AB, 0xff, TOY_CD);
    EXPECT(t, "\xc0\x80", 0, 0xc0, 0x80);
    EXPECT(t, "\xed\xa0\x80", 0, 0xed, 0xa0, 0x80);
    EXPECT(t, "\xf4\x90\x80\x80", 0, 0xf4, 0x90, 0x80, 0x80);
    EXPECT(t, "ab\xe2\x82", 0, TOY_AB, 0xe2, 0x82); /* cut off */
    EXPECT(t, "\xe2\x82\xac", 0, 0xe2, 0x82, 0xac);
    EXPECT(t, "ab\0cd", 0, TOY_AB, 0, TOY_CD);
    for (unsigned lead = 0x80; lead < 0x100; lead++) { /* what goes in comes out, whatever it is */
        char text[4] = { (char)lead, 'a', (char)(lead ^ 0x55), (char)0xbf };
        const int32_t want[] = { (int32_t)lead, 'a', (unsigned char)text[2], 0xbf };
        expect_ids(t, text, 4, 0, want, 4);
    }
    sl_tokenizer_destroy(t);
}

/* A byte without a token is left out before merging, as in the reference. */
static void bytes_without_a_token_are_left_out(void **state)
{
    (void)state;
    toy y;
    toy_fill(&y, "smollm");
    y.tokens[0x01] = (sl_bytes){ "nothing", 7 };
    sl_tokenizer *t = make(&y.v);
    EXPECT(t, "\x01\x02", 0, 0x02);
    EXPECT(t, "!\x01?", 0, '!', '?');
    sl_tokenizer_destroy(t);
}

/* --- size, time, memory ------------------------------------------------------------------ */

static double seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* a busy machine is no slower */
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void five_million_characters_without_a_break(void **state)
{
    (void)state;
    static const char *const units[] = { "a", "abcd",         " ", "\n",      "\xe4\xbd\xa0", "\xff", "<", " \n",
                                         "1", "\xe2\x80\xa8", "'", "\xcc\x81" };
    static const char *const names[] = { "smollm", "qwen2" };
    const size_t len = 5000000;
    char *text = malloc(len + 4);
    for (size_t k = 0; k < SL_COUNT(names); k++) {
        toy y;
        toy_fill(&y, names[k]);
        sl_tokenizer *t = make(&y.v);
        for (size_t u = 0; u < SL_COUNT(units); u++) {
            const size_t n = strlen(units[u]);
            for (size_t i = 0; i < len; i++)
                text[i] = units[u][i % n];
            sl_ids ids = { 0 };
            const double start = seconds();
            assert_int_equal(sl_tokenize(t, text, len - len % n, SL_TOK_PARSE_SPECIAL, &ids, NULL), SL_OK);
            if (seconds() - start > 60.0) /* generous: a quadratic step takes hours */
                fail_msg("%s, unit %zu: %.1f s", names[k], u, seconds() - start);
            assert_int_equal(ids.n, u == 1 ? len / 4 : len - len % n);
            sl_ids_fini(&ids);
        }
        sl_tokenizer_destroy(t);
    }
    free(text);
}

static void making_survives_each_failed_allocation(void **state)
{
    (void)state;
    toy y;
    toy_fill(&y, "default");
    bool done = false;
    for (long n = 0; !done; n++) {
        sl_tokenizer *t = NULL;
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        const sl_status rc = sl_tokenizer_create(&t, &y.v, &err);
        sl_mem_fail_after(-1);
        if (rc != SL_OK) {
            assert_int_equal(rc, SL_ENOMEM);
            assert_null(t);
        }
        done = rc == SL_OK;
        sl_tokenizer_destroy(t);
        assert_true(n < 1000);
    }
}

static void encoding_survives_each_failed_allocation(void **state)
{
    (void)state;
    char text[600] = "<s>ab cd \xe2\x82\xac \xff";
    const size_t head = strlen(text);
    memset(text + head, 'a', sizeof text - head); /* a long piece, and more ids than fit at first */
    toy y;
    toy_fill(&y, "qwen2");
    toy_surround(&y, TOY_BOS, -1);
    sl_tokenizer *t = make(&y.v);
    bool done = false;
    for (long n = 0; !done; n++) {
        sl_ids ids = { 0 };
        assert_int_equal(sl_tokenize(t, "ab", 2, 0, &ids, NULL), SL_OK);
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        const sl_status rc = sl_tokenize(t, text, sizeof text, SL_TOK_ADD_SPECIAL | SL_TOK_PARSE_SPECIAL, &ids, &err);
        sl_mem_fail_after(-1);
        done = rc == SL_OK;
        if (!done) {
            assert_int_equal(rc, SL_ENOMEM);
            assert_int_equal(ids.n, 1);
        }
        assert_int_equal(ids.data[0], TOY_AB);
        sl_ids_fini(&ids);
        assert_true(n < 1000);
    }
    sl_tokenizer_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_pre_tokenizers_are_refused_with_the_list),
        cmocka_unit_test(every_known_name_works),
        cmocka_unit_test(broken_vocabularies_are_refused),
        cmocka_unit_test(nothing_is_borrowed_from_the_vocabulary),
        cmocka_unit_test(look_ups),
        cmocka_unit_test(merges_follow_rank_then_place),
        cmocka_unit_test(names_bring_their_normalizer),
        cmocka_unit_test(specials_in_text),
        cmocka_unit_test(ids_are_appended),
        cmocka_unit_test(bytes_that_are_not_utf8_stand_alone),
        cmocka_unit_test(bytes_without_a_token_are_left_out),
        cmocka_unit_test(five_million_characters_without_a_break),
        cmocka_unit_test(making_survives_each_failed_allocation),
        cmocka_unit_test(encoding_survives_each_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
