/* test_edges.c - what a text or a file may hold that is rare: text that is no UTF-8, prefixes
 * beside special tokens, places that people wrote, limits of length, ids that end an answer,
 * answers that start behind a prompt, ids without a name, no memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/tokenizer.h"

#define SPACE "\xe2\x96\x81" /* U+2581 */
#define BAD   "\xef\xbf\xbd"

/* A vocabulary of characters: <unk> <s> </s>, 256 bytes if wanted, then the texts given. */
enum { UNK, BOS, EOS, FIRST_BYTE };

typedef struct small {
    sl_vocab v;
    int32_t n_special; /* ids before the texts */
} small;

static void begin(small *s, sl_vocab_model model, bool bytes, const char *const *texts, size_t n)
{
    static const char *const names[] = { "<unk>", "<s>", "</s>" };
    static const uint8_t kinds[] = { SL_TOKEN_UNKNOWN, SL_TOKEN_CONTROL, SL_TOKEN_CONTROL };
    sl_vocab *v = &s->v;
    sl_vocab_init(v);
    s->n_special = bytes ? 3 + 256 : 3;
    v->n_tokens = (size_t)s->n_special + n;
    v->tokens = sl_arena_alloc(&v->arena, v->n_tokens, sizeof *v->tokens);
    v->kinds = sl_arena_alloc(&v->arena, v->n_tokens, 1);
    v->scores = sl_arena_alloc(&v->arena, v->n_tokens, sizeof *v->scores);
    v->added = sl_arena_alloc(&v->arena, 8, sizeof *v->added);
    for (size_t i = 0; i < v->n_tokens; i++) {
        char byte[8];
        snprintf(byte, sizeof byte, "<0x%02X>", (unsigned)(i - 3) & 0xff);
        const char *text = i < 3                      ? names[i]
                           : i < (size_t)s->n_special ? sl_arena_strndup(&v->arena, byte, 6)
                                                      : texts[i - (size_t)s->n_special];
        v->tokens[i] = (sl_bytes){ text, strlen(text) };
        v->kinds[i] = i < 3 ? kinds[i] : i < (size_t)s->n_special ? SL_TOKEN_BYTE : SL_TOKEN_NORMAL;
        v->scores[i] = -(double)i;
    }
    v->text = SL_TEXT_CHARS;
    v->model = model;
    v->byte_fallback = bytes;
    v->unk = UNK;
    v->bos = BOS;
    v->eos = EOS;
    for (int32_t id = BOS; id <= EOS; id++)
        v->added[v->n_added++] = (sl_added_token){ .id = id, .special = true };
}

static sl_tokenizer *made(small *s)
{
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    if (sl_tokenizer_create(&t, &s->v, &err) != SL_OK)
        fail_msg("%s", err.msg);
    sl_vocab_fini(&s->v);
    return t;
}

static void expect(const sl_tokenizer *t, const char *text, size_t len, const int32_t *want, size_t n)
{
    sl_ids ids = { 0 };
    sl_err err = { 0 };
    if (sl_tokenize(t, text, len, SL_TOK_PARSE_SPECIAL, &ids, &err) != SL_OK)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < ids.n || i < n; i++)
        if (i >= ids.n || i >= n || ids.data[i] != want[i])
            fail_msg("\"%s\": id %zu of %zu is %d, want %d of %zu", text, i, ids.n, i < ids.n ? (int)ids.data[i] : -1,
                     i < n ? (int)want[i] : -1, n);
    sl_ids_fini(&ids);
}
#define EXPECT(t, text, ...)                                                                                           \
    expect(t, text, sizeof(text) - 1, (const int32_t[]){ __VA_ARGS__ },                                                \
           sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))

static const char *const abc[] = { "a", "b", "ab", SPACE, SPACE "a", SPACE "ab", SPACE "G", "G" };
enum { A, B, AB, SP, SP_A, SP_AB, SP_G, G, N_ABC };

/* --- text -------------------------------------------------------------------------------- */

static void bytes_that_are_no_utf8(void **state)
{
    (void)state;
    static const sl_vocab_model models[] = { SL_MODEL_MERGES, SL_MODEL_SCORES, SL_MODEL_UNIGRAM };
    for (size_t m = 0; m < SL_COUNT(models); m++) {
        small s;
        begin(&s, models[m], true, abc, N_ABC);
        sl_tokenizer *t = made(&s);
        const int32_t a = FIRST_BYTE + 256 + A;
        EXPECT(t, "a\xff", a, FIRST_BYTE + 0xff);
        EXPECT(t, "\xe2\x82", FIRST_BYTE + 0xe2, FIRST_BYTE + 0x82);
        EXPECT(t, "a\xed\xa0\x80G", a, FIRST_BYTE + 0xed, FIRST_BYTE + 0xa0, FIRST_BYTE + 0x80, a + G - A);
        sl_tokenizer_destroy(t);

        begin(&s, models[m], false, abc, N_ABC);
        t = made(&s);
        EXPECT(t, "a\xff\xfe", 3 + A, UNK, UNK);
        sl_tokenizer_destroy(t);

        begin(&s, models[m], false, abc, N_ABC);
        s.v.unk = -1; /* nothing stands for what is not known */
        t = made(&s);
        EXPECT(t, "a\xffz", 3 + A);
        sl_tokenizer_destroy(t);
    }
}

static void a_bad_byte_gets_no_prefix(void **state)
{
    (void)state;
    small s;
    begin(&s, SL_MODEL_SCORES, true, abc, N_ABC);
    sl_norm_step *n = sl_vocab_add_norm(&s.v, SL_NORM_SENTENCEPIECE);
    n->dummy_prefix = n->escape_spaces = true;
    sl_tokenizer *t = made(&s);
    const int32_t base = FIRST_BYTE + 256;
    EXPECT(t,
           "ab\xff"
           "ab",
           base + SP_AB, FIRST_BYTE + 0xff, base + AB);
    EXPECT(t,
           "\xff"
           "ab",
           FIRST_BYTE + 0xff, base + AB);
    sl_tokenizer_destroy(t);
}

/* Bug reports B34 and B47: the file's own steps decide where a space is put in front. */
static void leading_spaces(void **state)
{
    (void)state;
    small s;
    begin(&s, SL_MODEL_SCORES, false, abc, N_ABC);
    sl_vocab_add_norm(&s.v, SL_NORM_PREPEND)->text = (sl_bytes){ SPACE, 3 };
    sl_norm_step *n = sl_vocab_add_norm(&s.v, SL_NORM_REPLACE);
    n->pattern = (sl_bytes){ " ", 1 };
    n->text = (sl_bytes){ SPACE, 3 };
    sl_tokenizer *t = made(&s);
    EXPECT(t, "G", 3 + SP_G);
    EXPECT(t, "<s>G", BOS, 3 + SP_G); /* each stretch beside special tokens */
    EXPECT(t, "<s> G", BOS, 3 + SP, 3 + SP_G);
    EXPECT(t, "G<s>", 3 + SP_G, BOS);
    sl_tokenizer_destroy(t);

    begin(&s, SL_MODEL_SCORES, false, abc, N_ABC);
    sl_pretok_step *p = sl_vocab_add_pretok(&s.v, SL_PRETOK_METASPACE);
    p->text = (sl_bytes){ SPACE, 3 };
    p->prepend = SL_PREPEND_FIRST;
    t = made(&s);
    EXPECT(t, "G", 3 + SP_G);
    EXPECT(t, "<s>G", BOS, 3 + G); /* only at the beginning */
    EXPECT(t, "<s> G", BOS, 3 + SP_G);
    sl_tokenizer_destroy(t);
}

/* Bug report B43: a place that people wrote is never part of a control token. */
static void places_apart(void **state)
{
    (void)state;
    static const size_t places[] = { 1, 12 };
    small s;
    begin(&s, SL_MODEL_MERGES, true, abc, N_ABC);
    s.v.added[0].rstrip = true;
    sl_tokenizer *t = made(&s);
    sl_ids ids = { 0 };
    const char *text = "<s>a <s>  G</s>a"; /* the first and the last are people's */
    assert_int_equal(sl_tokenize_apart(t, text, strlen(text), places, 2, SL_TOK_PARSE_SPECIAL, &ids, NULL), SL_OK);
    size_t n_control = 0;
    for (size_t i = 0; i < ids.n; i++)
        n_control += ids.data[i] == BOS || ids.data[i] == EOS;
    assert_int_equal(n_control, 1);
    /* '<' 's' '>' a ' ' <s> G '<' '/' 's' '>' a: the white space behind <s> is gone */
    assert_int_equal(ids.n, 12);
    assert_int_equal(ids.data[0], FIRST_BYTE + '<');
    assert_int_equal(ids.data[5], BOS);
    assert_int_equal(ids.data[6], FIRST_BYTE + 256 + G);
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(t);
}

/* Bug report B31: with the flag a piece that is a token stays one; without, merges decide. */
static void whole_pieces(void **state)
{
    (void)state;
    for (unsigned whole = 0; whole < 2; whole++) {
        small s;
        begin(&s, SL_MODEL_MERGES, false, abc, N_ABC);
        struct sl_vocab_merge merge = { { SPACE, 3 }, { "a", 1 } };
        s.v.merges = &merge;
        s.v.n_merges = 1;
        s.v.whole_pieces = whole;
        sl_tokenizer *t = made(&s);
        if (whole)
            EXPECT(t, SPACE "ab", 3 + SP_AB);
        else
            EXPECT(t, SPACE "ab", 3 + SP_A, 3 + B);
        sl_tokenizer_destroy(t);
    }
}

/* --- cutting before all else ------------------------------------------------------------- */

static void long_texts_are_cut(void **state)
{
    (void)state;
    small s;
    begin(&s, SL_MODEL_SCORES, false, abc, N_ABC);
    s.v.max_run = 3;
    s.v.max_chars = 10;
    sl_tokenizer *t = made(&s);
    EXPECT(t, "abab", 3 + AB, 3 + A, 3 + B);                                       /* aba|b */
    EXPECT(t, "ababab", 3 + AB, 3 + A, 3 + B, 3 + AB);                             /* aba|bab */
    EXPECT(t, "ab ab", 3 + AB, UNK, 3 + AB);                                       /* no run is too long */
    EXPECT(t, "a   b", 3 + A, UNK, UNK, UNK, 3 + B);                               /* three spaces are not */
    EXPECT(t, "ab ab ab ab", 3 + AB, UNK, 3 + AB, UNK, 3 + AB, UNK, 3 + A, 3 + B); /* ten characters, then the rest */
    EXPECT(t, "a<s>", 3 + A, UNK, UNK, UNK); /* cut inside a special token: a<s|> */
    EXPECT(t, "<s>a", BOS, 3 + A);
    EXPECT(t,
           "\xe2\x96\x81"
           "ab\xe2\x96\x81",
           3 + SP_AB, 3 + SP); /* characters, not bytes */
    sl_tokenizer_destroy(t);
}

/* --- ids --------------------------------------------------------------------------------- */

static void ids_that_end_an_answer(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "<|return|>",      "<|call|>",   "<|im_end|>",    "[EOS]",
        "<|user|>",        "<|eom_id|>", "<end_of_turn>", "<\uff5cend\u2581of\u2581sentence\uff5c>",
        "<|observation|>", "plain",      "<|im_start|>"
    };
    small s;
    int32_t more = 3 + 9;
    for (unsigned control = 0; control < 2; control++) {
        begin(&s, SL_MODEL_SCORES, false, texts, SL_COUNT(texts));
        for (size_t i = 0; i < SL_COUNT(texts); i++)
            s.v.kinds[3 + i] = control ? SL_TOKEN_CONTROL : SL_TOKEN_USER;
        s.v.eos = -1;
        s.v.ends = &more;
        s.v.n_ends = 1;
        sl_tokenizer *t = made(&s);
        for (int32_t id = 3; id < 3 + 9; id++)
            assert_int_equal(sl_tokenizer_ends(t, id), control == 1); /* a word of the user ends nothing */
        assert_true(sl_tokenizer_ends(t, more));
        assert_false(sl_tokenizer_ends(t, 3 + 10));
        assert_true(sl_tokenizer_ends(t, EOS)); /* "</s>" */
        assert_false(sl_tokenizer_ends(t, 1000));
        sl_tokenizer_destroy(t);
    }
    begin(&s, SL_MODEL_SCORES, false, abc, N_ABC);
    more = 3 + N_ABC;
    s.v.ends = &more;
    s.v.n_ends = 1;
    sl_tokenizer *t = NULL;
    assert_int_equal(sl_tokenizer_create(&t, &s.v, NULL), SL_EFORMAT);
    s.v.n_ends = 0;
    s.v.added[1].id = -1;
    assert_int_equal(sl_tokenizer_create(&t, &s.v, NULL), SL_EFORMAT);
    sl_vocab_fini(&s.v);
}

/* "<|end|>" ends a turn, unless the vocabulary says that it ends the messages of one. */
static void end_of_a_message(void **state)
{
    (void)state;
    static const char *const texts[] = { "<|end|>", "<|return|>", "<|call|>" };
    small s;
    for (size_t n = 1; n <= SL_COUNT(texts); n++) {
        begin(&s, SL_MODEL_SCORES, false, texts, n);
        memset(s.v.kinds + 3, SL_TOKEN_CONTROL, n);
        sl_tokenizer *t = made(&s);
        assert_int_equal(sl_tokenizer_ends(t, 3), n < 3);
        assert_int_equal(sl_tokenizer_ends(t, 4), n > 1);
        sl_tokenizer_destroy(t);
    }
}

/* Bug report B37: ids that nobody named give nothing, also in a stream. */
static void ids_without_a_name(void **state)
{
    (void)state;
    static const char *const texts[] = { "a", "", "", "b" };
    for (unsigned joined = 0; joined < 2; joined++) {
        small s;
        begin(&s, SL_MODEL_SCORES, false, texts, SL_COUNT(texts));
        s.v.kinds[4] = s.v.kinds[5] = SL_TOKEN_UNUSED;
        if (!joined)
            sl_vocab_add_decoder(&s.v, SL_DECODE_FUSE);
        sl_tokenizer *t = made(&s);
        sl_detok d;
        sl_str out = { 0 };
        sl_detok_init(&d, t, true);
        for (int32_t id = 3; id < 12; id++)
            sl_detok_next(&d, id, &out);
        sl_detok_flush(&d, &out);
        assert_string_equal(out.data, joined ? "a b" : "ab");
        assert_int_equal(sl_token_bytes(t, 4, true).len, 0);
        assert_int_equal(sl_token_written(t, 5).len, 0);
        sl_str_fini(&out);
        sl_tokenizer_destroy(t);
    }
}

static void after(const sl_tokenizer *t, const int32_t *prompt, size_t n, const int32_t *ids, size_t n_ids,
                  const char *want)
{
    sl_detok d;
    sl_str out = { 0 };
    sl_detok_init_after(&d, t, false, prompt, n);
    for (size_t i = 0; i < n_ids; i++)
        sl_detok_next(&d, ids[i], &out);
    sl_detok_flush(&d, &out);
    assert_string_equal(out.len ? out.data : "", want);
    sl_str_fini(&out);
}
#define IDS(...) (const int32_t[]){ __VA_ARGS__ }, sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)

static void answers_behind_a_prompt(void **state)
{
    (void)state;
    small s;
    begin(&s, SL_MODEL_SCORES, true, abc, N_ABC);
    sl_decode_step *d = sl_vocab_add_decoder(&s.v, SL_DECODE_REPLACE);
    d->pattern = (sl_bytes){ SPACE, 3 };
    d->text = (sl_bytes){ " ", 1 };
    sl_vocab_add_decoder(&s.v, SL_DECODE_BYTE_FALLBACK);
    sl_vocab_add_decoder(&s.v, SL_DECODE_FUSE);
    d = sl_vocab_add_decoder(&s.v, SL_DECODE_STRIP);
    d->pattern = (sl_bytes){ " ", 1 };
    d->start = 1;
    sl_tokenizer *t = made(&s);
    const int32_t b = FIRST_BYTE, a = FIRST_BYTE + 256;
    after(t, IDS(BOS), IDS(a + SP_A, a + SP_G), "a G"); /* the first space goes, not the second */
    after(t, IDS(a + A), IDS(a + SP_A), " a");          /* behind text nothing goes */
    after(t, IDS(b + 0xe2, b + 0x82), IDS(b + 0xac, a + A),
          "\xe2\x82\xac"
          "a");
    after(t, IDS(b + 0xe2, BOS, b + 0x82), IDS(b + 0xac), "\xe2\x82\xac");
    after(t, IDS(b + 0xe2, b + 0x82), IDS(a + A), "a");     /* what stays open was the prompt's */
    after(t, IDS(b + 0xf0), IDS(b + 0x9f, a + A), BAD "a"); /* one new byte is bad */
    after(t, IDS(b + 0xf0), IDS(b + 0x9f, b + 0x99), BAD BAD);
    after(t, IDS(b + 0x82), IDS(b + 0xac), BAD);                  /* nothing is open */
    after(t, IDS(b + 0xc3, b + 0xa9), IDS(b + 0xa9), BAD);        /* a whole character stands before */
    after(t, IDS(a + A, b + 0xe0, b + 0x80), IDS(b + 0x80), BAD); /* never the start of one */
    sl_tokenizer_destroy(t);
}

/* sentencepiece 0.2.3: one space of each piece in front goes, of all or of one; an unknown piece's
 * surface stays as it is. */
static void spaces_in_front_of_pieces(void **state)
{
    (void)state;
    static const char *const texts[] = { SPACE, SPACE SPACE, SPACE "a", "a", "<0x20>", " a" };
    enum { ONE = 3, TWO, ONE_A, JUST_A, BYTE_20, TRUE_A };
    for (unsigned all = 0; all < 2; all++) {
        small s;
        begin(&s, SL_MODEL_SCORES, false, texts, SL_COUNT(texts));
        sl_decode_step *d = sl_vocab_add_decoder(&s.v, SL_DECODE_REPLACE);
        d->pattern = (sl_bytes){ "<unk>", 5 };
        d->text = (sl_bytes){ " U ", 3 };
        d = sl_vocab_add_decoder(&s.v, SL_DECODE_REPLACE);
        d->pattern = (sl_bytes){ SPACE, 3 };
        d->text = (sl_bytes){ " ", 1 };
        s.v.kinds[BYTE_20] = SL_TOKEN_BYTE;
        sl_vocab_add_decoder(&s.v, SL_DECODE_BYTE_FALLBACK);
        sl_vocab_add_decoder(&s.v, SL_DECODE_FUSE);
        d = sl_vocab_add_decoder(&s.v, SL_DECODE_STRIP);
        d->pattern = (sl_bytes){ " ", 1 };
        d->start = all ? SIZE_MAX : 1;
        d->strip_first = true;
        sl_tokenizer *t = made(&s);
        const struct {
            int32_t ids[3];
            const char *one, *all;
        } cases[] = { { { ONE, -1, -1 }, "", "" },
                      { { ONE, ONE_A, -1 }, " a", "a" },
                      { { ONE, ONE, ONE_A }, "  a", "a" },
                      { { TWO, JUST_A, -1 }, " a", " a" },
                      { { UNK, ONE_A, -1 }, " U  a", " U  a" },
                      { { BOS, ONE_A, -1 }, "<s> a", "<s> a" },
                      { { ONE, UNK, -1 }, " U ", " U " },
                      { { BYTE_20, JUST_A, -1 }, " a", " a" },
                      { { BYTE_20, ONE_A, -1 }, "  a", "  a" },
                      { { TRUE_A, -1, -1 }, " a", " a" } };
        for (size_t i = 0; i < SL_COUNT(cases); i++) {
            sl_detok detok;
            sl_str out = { 0 };
            sl_detok_init(&detok, t, true);
            for (size_t k = 0; k < 3; k++)
                sl_detok_next(&detok, cases[i].ids[k], &out);
            assert_string_equal(out.len ? out.data : "", all ? cases[i].all : cases[i].one);
            sl_str_fini(&out);
        }
        sl_tokenizer_destroy(t);
    }
}

static void decoders_that_need_the_whole_text(void **state)
{
    (void)state;
    static const struct {
        sl_decode_kind kind;
        const char *pattern, *said;
    } cases[] = { { SL_DECODE_BYTE_LEVEL, "", "ByteLevel behind Fuse" },
                  { SL_DECODE_BYTE_FALLBACK, "", "ByteFallback behind Fuse" },
                  { SL_DECODE_REPLACE, "ab", "Replace of more than one character behind Fuse" },
                  { SL_DECODE_STRIP, " ", "Strip at the end behind Fuse" } };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        small s;
        sl_tokenizer *t = NULL;
        sl_err err = { 0 };
        begin(&s, SL_MODEL_SCORES, false, abc, N_ABC);
        sl_vocab_add_decoder(&s.v, SL_DECODE_FUSE);
        sl_decode_step *d = sl_vocab_add_decoder(&s.v, cases[i].kind);
        d->pattern = (sl_bytes){ cases[i].pattern, strlen(cases[i].pattern) };
        d->stop = 1;
        assert_int_equal(sl_tokenizer_create(&t, &s.v, &err), SL_EUNSUPPORTED);
        assert_non_null(strstr(err.msg, cases[i].said));
        sl_vocab_fini(&s.v);
    }
}

/* --- files that lie ---------------------------------------------------------------------- */

static void broken_tables_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
    } tables[] = { { "\x01", 1 },
                   { "\x04\0\0\0", 4 },
                   { "\xff\xff\xff\xff"
                     "abcd",
                     8 },
                   { "\x02\0\0\0ab", 6 },
                   { "\0\0\0\0\xff", 5 } };
    for (size_t i = 0; i < SL_COUNT(tables); i++) {
        small s;
        sl_tokenizer *t = NULL;
        sl_err err = { 0 };
        begin(&s, SL_MODEL_SCORES, false, abc, N_ABC);
        sl_vocab_add_norm(&s.v, SL_NORM_CHARSMAP)->pattern = (sl_bytes){ tables[i].bytes, tables[i].n };
        assert_int_equal(sl_tokenizer_create(&t, &s.v, &err), SL_EFORMAT);
        assert_non_null(strstr(err.msg, "precompiled_charsmap"));
        sl_vocab_fini(&s.v);
    }
}

static void scores_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        small s;
        sl_tokenizer *t = NULL;
        begin(&s, k & 1 ? SL_MODEL_SCORES : SL_MODEL_UNIGRAM, false, abc, N_ABC);
        if (k & 2)
            s.v.scores = NULL;
        else
            s.v.scores[5] = (double)NAN;
        assert_int_equal(sl_tokenizer_create(&t, &s.v, NULL), SL_EFORMAT);
        assert_null(t);
        sl_vocab_fini(&s.v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_that_are_no_utf8),
        cmocka_unit_test(a_bad_byte_gets_no_prefix),
        cmocka_unit_test(leading_spaces),
        cmocka_unit_test(places_apart),
        cmocka_unit_test(whole_pieces),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(ids_that_end_an_answer),
        cmocka_unit_test(end_of_a_message),
        cmocka_unit_test(ids_without_a_name),
        cmocka_unit_test(answers_behind_a_prompt),
        cmocka_unit_test(spaces_in_front_of_pieces),
        cmocka_unit_test(decoders_that_need_the_whole_text),
        cmocka_unit_test(broken_tables_are_refused),
        cmocka_unit_test(scores_that_are_no_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
