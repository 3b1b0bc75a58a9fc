/* test_sentencepiece.c - tokenizer.model: what its messages become, and how each fault is named. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "formats/vocab_files.h"

/* ---- writing protocol buffers ------------------------------------------------------------- */

static void put_varint(sl_str *s, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        sl_str_append(s, (const char[]){ (char)(v | 0x80) }, 1);
    sl_str_append(s, (const char[]){ (char)v }, 1);
}

static void put_number(sl_str *s, unsigned field, uint64_t v)
{
    put_varint(s, field << 3);
    put_varint(s, v);
}

static void put_bytes(sl_str *s, unsigned field, const char *bytes, size_t n)
{
    put_varint(s, field << 3 | 2);
    put_varint(s, n);
    sl_str_append(s, bytes, n);
}

static void put_message(sl_str *s, unsigned field, sl_str *inner)
{
    put_bytes(s, field, inner->data ? inner->data : "", inner->len);
    sl_str_fini(inner);
}

static void put_piece(sl_str *s, const char *text, float score, int type)
{
    sl_str p = { 0 };
    const uint32_t bits = sl_f32_bits(score);
    put_bytes(&p, 1, text, strlen(text));
    put_varint(&p, 2 << 3 | 5);
    sl_str_append(&p, (const char *)&bits, 4);
    if (type >= 0)
        put_number(&p, 3, (uint64_t)type);
    put_message(s, 1, &p);
}

enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE };

static void put_usual(sl_str *s)
{
    put_piece(s, "<unk>", 0, UNKNOWN);
    put_piece(s, "<s>", 0, CONTROL);
    put_piece(s, "</s>", 0, CONTROL);
    put_piece(s, "a", -1.5f, -1);
    put_piece(s, "<sep>", 0, USER);
    put_piece(s, "old", -3, UNUSED);
}

static void put_trainer(sl_str *s, int type)
{
    sl_str t = { 0 };
    put_number(&t, 3, (uint64_t)type);
    put_message(s, 2, &t);
}

/* Reads and frees what was written. */
static sl_status read_back(sl_str *s, sl_vocab *v, sl_err *err)
{
    char *exact = malloc(s->len ? s->len : 1);
    assert_non_null(exact);
    if (s->len)
        memcpy(exact, s->data, s->len);
    const sl_status rc = sl_vocab_read_sentencepiece(v, exact, s->len, err);
    free(exact);
    sl_str_fini(s);
    return rc;
}

static void reads(sl_str *s, sl_vocab *v)
{
    sl_err err = { 0 };
    if (read_back(s, v, &err))
        fail_msg("%s", err.msg);
}

static void check_bytes(sl_bytes b, const char *want)
{
    assert_int_equal(b.len, strlen(want));
    assert_memory_equal(b.data, want, b.len);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void defaults(void **state)
{
    (void)state;
    sl_str s = { 0 };
    sl_vocab v;
    put_usual(&s);
    put_bytes(&s, 99, "skipped", 7);
    reads(&s, &v);
    assert_true(v.model == SL_MODEL_UNIGRAM && v.text == SL_TEXT_CHARS && !v.double_scores && v.fuse_unk);
    assert_int_equal(v.n_tokens, 6);
    static const uint8_t kinds[] = { SL_TOKEN_UNKNOWN, SL_TOKEN_CONTROL, SL_TOKEN_CONTROL,
                                     SL_TOKEN_NORMAL,  SL_TOKEN_USER,    SL_TOKEN_UNUSED };
    assert_memory_equal(v.kinds, kinds, sizeof kinds);
    check_bytes(v.tokens[3], "a");
    assert_true(v.scores[3] == -1.5 && v.unk == 0 && v.bos == 1 && v.eos == 2 && v.pad == -1);
    assert_true(v.n_added == 2 && v.added[0].id == 1 && v.added[0].special && !v.added[0].normalized);
    assert_true(v.n_prefix == 0 && v.n_suffix == 0 && !v.byte_fallback);
    assert_true(v.n_norms == 1 && v.norms[0].kind == SL_NORM_SENTENCEPIECE);
    const sl_norm_step *n = v.norms;
    assert_true(n->dummy_prefix && n->remove_extra && n->escape_spaces && !n->space_suffix && n->pattern.len == 0);
    assert_int_equal(v.n_decoders, 5);
    check_bytes(v.decoders[0].pattern, "<unk>");
    check_bytes(v.decoders[0].text, " \xe2\x81\x87 ");
    assert_true(v.decoders[4].kind == SL_DECODE_STRIP && v.decoders[4].start > 1);
    sl_vocab_fini(&v);
}

static void settings(void **state)
{
    (void)state;
    sl_str s = { 0 }, t = { 0 }, n = { 0 };
    sl_vocab v;
    put_usual(&s);
    for (unsigned b = 0; b < 256; b++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", b);
        put_piece(&s, text, 0, BYTE);
    }
    put_number(&t, 3, 2);
    put_number(&t, 24, 1);
    put_number(&t, 35, 1);
    put_bytes(&t, 44, "?", 1);
    put_bytes(&t, 46, "</s>", 4);
    put_bytes(&t, 47, "a", 1); /* no control token */
    put_bytes(&t, 48, "<s>", 3);
    put_message(&s, 2, &t);
    put_bytes(&n, 2, "map\0", 4);
    put_number(&n, 3, 0);
    put_number(&n, 4, 0);
    put_number(&n, 5, 0);
    put_message(&s, 3, &n);
    reads(&s, &v);
    assert_true(v.model == SL_MODEL_SCORES && v.byte_fallback && v.n_tokens == 262);
    assert_int_equal(v.kinds[6 + 0x41], SL_TOKEN_BYTE);
    assert_true(v.bos == 2 && v.eos == -1 && v.pad == 1);
    const sl_norm_step *step = v.norms;
    assert_true(!step->dummy_prefix && !step->remove_extra && !step->escape_spaces && step->space_suffix);
    assert_int_equal(step->pattern.len, 4);
    assert_int_equal(v.n_decoders, 4); /* no space that could have been put in front */
    check_bytes(v.decoders[0].text, "?");
    sl_vocab_fini(&v);
}

typedef void write_fn(sl_str *s);

static void write_nothing(sl_str *s)
{
    (void)s;
}
static void write_text(sl_str *s)
{
    sl_str_puts(s, "IQ== 0\n");
}
static void write_cut(sl_str *s)
{
    put_usual(s);
    s->len--;
}
static void write_group(sl_str *s)
{
    put_usual(s);
    put_varint(s, 7 << 3 | 3);
}
static void write_field_0(sl_str *s)
{
    put_usual(s);
    put_number(s, 0, 1);
}
static void write_endless_varint(sl_str *s)
{
    put_usual(s);
    sl_str_append(s, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
}
static void write_huge_length(sl_str *s)
{
    put_usual(s);
    put_varint(s, 1 << 3 | 2);
    put_varint(s, UINT64_MAX);
}
static void write_word(sl_str *s)
{
    put_usual(s);
    put_trainer(s, 3);
}
static void write_char(sl_str *s)
{
    put_usual(s);
    put_trainer(s, 4);
}
static void write_type_9(sl_str *s)
{
    put_usual(s);
    put_trainer(s, 9);
}
static void write_denormalizer(sl_str *s)
{
    sl_str d = { 0 };
    put_usual(s);
    put_bytes(&d, 2, "map", 3);
    put_message(s, 5, &d);
}
static void write_twice(sl_str *s)
{
    put_usual(s);
    put_piece(s, "a", 0, NORMAL);
}
static void write_empty(sl_str *s)
{
    put_usual(s);
    put_piece(s, "", 0, NORMAL);
}
static void write_two_unknown(sl_str *s)
{
    put_usual(s);
    put_piece(s, "u", 0, UNKNOWN);
}
static void write_no_unknown(sl_str *s)
{
    put_piece(s, "a", 0, NORMAL);
}
static void write_kind(sl_str *s)
{
    put_usual(s);
    put_piece(s, "x", 0, 7);
}
static void write_nan(sl_str *s)
{
    put_usual(s);
    put_piece(s, "x", sl_f32_from_bits(0x7fc00000u), NORMAL);
}
static void write_byte(sl_str *s)
{
    put_usual(s);
    put_piece(s, "<0x00>", 0, BYTE);
}
static void put_fallback(sl_str *s)
{
    sl_str t = { 0 };
    put_number(&t, 35, 1);
    put_message(s, 2, &t);
    put_usual(s);
}
static void write_few_bytes(sl_str *s)
{
    put_fallback(s);
    put_piece(s, "<0x00>", 0, BYTE);
}
static void write_odd_byte(sl_str *s)
{
    put_fallback(s);
    put_piece(s, "<0x0a>", 0, BYTE);
}

static void faults_are_named(void **state)
{
    (void)state;
    static const struct {
        write_fn *write;
        sl_status status;
        const char *says;
    } cases[] = {
        { write_nothing, SL_EFORMAT, "no pieces" },
        { write_text, SL_EFORMAT, "byte 0: " },
        { write_cut, SL_EFORMAT, "byte " },
        { write_group, SL_EFORMAT, "byte " },
        { write_field_0, SL_EFORMAT, "byte " },
        { write_endless_varint, SL_EFORMAT, "byte " },
        { write_huge_length, SL_EFORMAT, "byte " },
        { write_word, SL_EUNSUPPORTED, "trainer_spec.model_type: \"word\"" },
        { write_char, SL_EUNSUPPORTED, "trainer_spec.model_type: \"char\"" },
        { write_type_9, SL_EFORMAT, "trainer_spec.model_type: 9" },
        { write_denormalizer, SL_EUNSUPPORTED, "denormalizer_spec" },
        { write_twice, SL_EFORMAT, "piece 6, \"a\": " },
        { write_empty, SL_EFORMAT, "piece 6, \"\": empty" },
        { write_two_unknown, SL_EFORMAT, "piece 6, \"u\": a second unknown" },
        { write_no_unknown, SL_EFORMAT, "no unknown token" },
        { write_kind, SL_EFORMAT, "piece 6, \"x\": its type" },
        { write_nan, SL_EFORMAT, "piece 6, \"x\": its score" },
        { write_byte, SL_EFORMAT, "piece 6, \"<0x00>\": a byte" },
        { write_few_bytes, SL_EFORMAT, "no piece for the byte 0x01" },
        { write_odd_byte, SL_EFORMAT, "piece 6, \"<0x0a>\": stands for no byte" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_str s = { 0 };
        sl_vocab v;
        sl_err err = { 0 };
        cases[i].write(&s);
        const sl_status rc = read_back(&s, &v, &err);
        if (rc != cases[i].status)
            fail_msg("case %zu (%s): %s: %s", i, cases[i].says, sl_status_name(rc), err.msg);
        check_says(&err, cases[i].says);
        assert_true(!v.tokens && v.unk == -1);
    }
}

static void every_allocation_fails(void **state)
{
    (void)state;
    sl_str s = { 0 };
    put_usual(&s);
    bool done = false;
    long n = 0;
    for (; !done; n++) {
        sl_vocab v;
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        const sl_status rc = sl_vocab_read_sentencepiece(&v, s.data, s.len, &err);
        sl_mem_fail_after(-1);
        assert_true(n < 100 && (rc == SL_OK || (rc == SL_ENOMEM && err.code == SL_ENOMEM && !v.tokens)));
        done = rc == SL_OK;
        sl_vocab_fini(&v);
    }
    assert_true(n > 1);
    sl_str_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(defaults), cmocka_unit_test(settings),
                                        cmocka_unit_test(faults_are_named), cmocka_unit_test(every_allocation_fails) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
