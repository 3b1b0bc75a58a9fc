/* sentencepiece.c - SentencePiece's tokenizer.model, a protocol buffer that is taken apart by hand.
 *
 * What the fields mean: google/sentencepiece, src/sentencepiece_model.proto; what becomes of them: its
 * sentencepiece_processor.cc. A field that comes again replaces the one before, as protocol buffers have it;
 * unknown ones are skipped. */
#include "formats/fill_in.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include "base/num.h"
#include "formats/vocab_files.h"

#define SPACE "\xe2\x96\x81" /* U+2581 */

/* ---- protocol buffers ---------------------------------------------------------------------- */

typedef enum pb_wire { PB_VARINT = 0, PB_I64 = 1, PB_LEN = 2, PB_I32 = 5 } pb_wire;

typedef struct pb {
    const uint8_t *at, *end;
} pb;

typedef struct pb_field {
    uint32_t number;
    pb_wire wire;
    uint64_t value; /* VARINT, I32 */
    sl_bytes bytes; /* LEN */
} pb_field;

static bool pb_varint(pb *p, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (p->at == p->end)
            return false;
        const uint8_t byte = *p->at++;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool pb_take(pb *p, uint64_t n, const uint8_t **out)
{
    if (n > (uint64_t)(p->end - p->at))
        return false;
    *out = p->at;
    p->at += n;
    return true;
}

/* The next field, at a place where one begins; false: malformed. */
static bool pb_next(pb *p, pb_field *f)
{
    uint64_t tag = 0, n = 0;
    const uint8_t *bytes = NULL;
    *f = (pb_field){ .bytes = { "", 0 } };
    if (!pb_varint(p, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return false;
    f->number = (uint32_t)(tag >> 3);
    f->wire = (pb_wire)(tag & 7);
    switch (f->wire) {
    case PB_VARINT:
        return pb_varint(p, &f->value);
    case PB_I64:
        return pb_take(p, 8, &bytes);
    case PB_I32:
        if (!pb_take(p, 4, &bytes))
            return false;
        f->value = sl_load_le32(bytes);
        return true;
    case PB_LEN:
        if (!pb_varint(p, &n) || !pb_take(p, n, &bytes))
            return false;
        f->bytes = (sl_bytes){ (const char *)bytes, (size_t)n };
        return true;
    }
    return false; /* groups, which are not used since 2008 */
}

static pb pb_open(sl_bytes bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    return (pb){ at, at + bytes.len };
}

/* ---- the message ---------------------------------------------------------------------------- */

/* Numbers of fields. */
enum { MODEL_PIECE = 1, MODEL_TRAINER = 2, MODEL_NORMALIZER = 3, MODEL_DENORMALIZER = 5 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum {
    TRAINER_TYPE = 3,
    TRAINER_SUFFIX = 24,
    TRAINER_BYTES = 35,
    TRAINER_SURFACE = 44,
    TRAINER_BOS = 46,
    TRAINER_EOS = 47,
    TRAINER_PAD = 48
};
enum { NORM_MAP = 2, NORM_PREFIX = 3, NORM_EXTRA = 4, NORM_ESCAPE = 5 };

typedef struct message {
    size_t n_pieces;
    uint64_t type; /* 1 unigram, 2 BPE, 3 word, 4 char */
    bool suffix, byte_fallback;
    sl_bytes surface, bos, eos, pad;
    sl_bytes charsmap, decharsmap;
    bool prefix, extra, escape;
} message;

static void set_bool(bool *out, const pb_field *f)
{
    if (f->wire == PB_VARINT)
        *out = f->value != 0;
}

static void set_bytes(sl_bytes *out, const pb_field *f)
{
    if (f->wire == PB_LEN)
        *out = f->bytes;
}

static bool read_trainer(message *m, sl_bytes bytes)
{
    pb p = pb_open(bytes);
    pb_field f;
    while (p.at < p.end) {
        if (!pb_next(&p, &f))
            return false;
        if (f.number == TRAINER_TYPE && f.wire == PB_VARINT)
            m->type = f.value;
        else if (f.number == TRAINER_SUFFIX)
            set_bool(&m->suffix, &f);
        else if (f.number == TRAINER_BYTES)
            set_bool(&m->byte_fallback, &f);
        else if (f.number == TRAINER_SURFACE)
            set_bytes(&m->surface, &f);
        else if (f.number == TRAINER_BOS)
            set_bytes(&m->bos, &f);
        else if (f.number == TRAINER_EOS)
            set_bytes(&m->eos, &f);
        else if (f.number == TRAINER_PAD)
            set_bytes(&m->pad, &f);
    }
    return true;
}

static bool read_normalizer(message *m, sl_bytes bytes)
{
    pb p = pb_open(bytes);
    pb_field f;
    while (p.at < p.end) {
        if (!pb_next(&p, &f))
            return false;
        if (f.number == NORM_MAP)
            set_bytes(&m->charsmap, &f);
        else if (f.number == NORM_PREFIX)
            set_bool(&m->prefix, &f);
        else if (f.number == NORM_EXTRA)
            set_bool(&m->extra, &f);
        else if (f.number == NORM_ESCAPE)
            set_bool(&m->escape, &f);
    }
    return true;
}

static bool read_denormalizer(message *m, sl_bytes bytes)
{
    message other = { 0 };
    const bool ok = read_normalizer(&other, bytes);
    m->decharsmap = other.charsmap;
    return ok;
}

/* All but the pieces, which are counted. */
static sl_status read_message(message *m, sl_bytes bytes, sl_err *err)
{
    *m = (message){ .type = 1,
                    .prefix = true,
                    .extra = true,
                    .escape = true,
                    .surface = { " \xe2\x81\x87 ", 5 },
                    .bos = { "<s>", 3 },
                    .eos = { "</s>", 4 },
                    .pad = { "<pad>", 5 } };
    pb p = pb_open(bytes);
    pb_field f;
    while (p.at < p.end) {
        const size_t from = (size_t)(p.at - (const uint8_t *)bytes.data);
        bool ok = pb_next(&p, &f);
        if (ok && f.wire == PB_LEN && f.number == MODEL_PIECE)
            m->n_pieces++;
        else if (ok && f.wire == PB_LEN && f.number == MODEL_TRAINER)
            ok = read_trainer(m, f.bytes);
        else if (ok && f.wire == PB_LEN && f.number == MODEL_NORMALIZER)
            ok = read_normalizer(m, f.bytes);
        else if (ok && f.wire == PB_LEN && f.number == MODEL_DENORMALIZER)
            ok = read_denormalizer(m, f.bytes);
        if (!ok)
            return sl_fail(err, SL_EFORMAT, "byte %zu: no field of a SentencePiece model", from);
    }
    if (m->n_pieces == 0)
        return sl_fail(err, SL_EFORMAT, "no pieces, and so no SentencePiece model");
    return SL_OK;
}

static sl_status check_message(const message *m, sl_err *err)
{
    static const char *const types[] = { "unigram", "bpe", "word", "char" };
    if (m->type < 1 || m->type > SL_COUNT(types))
        return sl_fail(err, SL_EFORMAT, "trainer_spec.model_type: %llu is not known", (unsigned long long)m->type);
    if (m->type > 2)
        return sl_fail(err, SL_EUNSUPPORTED,
                       "trainer_spec.model_type: \"%s\" is not supported, only unigram and bpe are",
                       types[m->type - 1]);
    if (m->decharsmap.len)
        return sl_fail(err, SL_EUNSUPPORTED, "denormalizer_spec: a table for decoding is not supported");
    return SL_OK;
}

/* ---- pieces --------------------------------------------------------------------------------- */

static sl_status bad_piece(const sl_fill *f, size_t id, sl_bytes text, const char *what)
{
    return sl_fail(f->err, SL_EFORMAT, "piece %zu, \"%.*s\": %s", id, (int)SL_MIN(text.len, (size_t)60), text.data,
                   what);
}

static sl_status read_piece(sl_fill *f, const message *m, size_t id, sl_bytes bytes)
{
    static const uint8_t kinds[] = { SL_TOKEN_NORMAL, SL_TOKEN_NORMAL, SL_TOKEN_UNKNOWN, SL_TOKEN_CONTROL,
                                     SL_TOKEN_USER,   SL_TOKEN_UNUSED, SL_TOKEN_BYTE };
    uint64_t type = 1;
    sl_bytes text = { "", 0 };
    float score = 0;
    pb p = pb_open(bytes);
    pb_field field;
    while (p.at < p.end) {
        if (!pb_next(&p, &field))
            return bad_piece(f, id, text, "malformed");
        if (field.number == PIECE_TEXT)
            set_bytes(&text, &field);
        else if (field.number == PIECE_SCORE && field.wire == PB_I32)
            score = sl_f32_from_bits((uint32_t)field.value);
        else if (field.number == PIECE_TYPE && field.wire == PB_VARINT)
            type = field.value;
    }
    if (text.len == 0)
        return bad_piece(f, id, text, "empty");
    if (type == 0 || type >= SL_COUNT(kinds))
        return bad_piece(f, id, text, "its type is not known");
    if (isnan(score))
        return bad_piece(f, id, text, "its score is not a number");
    if (kinds[type] == SL_TOKEN_BYTE && (!m->byte_fallback || sl_fill_byte(text) < 0))
        return bad_piece(f, id, text,
                         m->byte_fallback ? "stands for no byte" : "a byte, but there is no byte_fallback");
    if (kinds[type] == SL_TOKEN_UNKNOWN && f->v->unk >= 0)
        return bad_piece(f, id, text, "a second unknown token");
    if (kinds[type] == SL_TOKEN_UNKNOWN)
        f->v->unk = (int32_t)id;
    f->v->kinds[id] = kinds[type];
    f->v->scores[id] = score;
    return sl_fill_keep(f, text, &f->v->tokens[id]);
}

static sl_status read_pieces(sl_fill *f, const message *m, sl_bytes bytes)
{
    sl_status rc = sl_fill_tokens(f, m->n_pieces, true);
    pb p = pb_open(bytes);
    pb_field field;
    for (size_t id = 0; id < m->n_pieces && !rc && pb_next(&p, &field);)
        if (field.number == MODEL_PIECE && field.wire == PB_LEN)
            rc = read_piece(f, m, id++, field.bytes);
    return rc;
}

/* Names must differ, and with byte_fallback there are all 256 bytes. */
static sl_status check_pieces(const sl_fill *f, const sl_names *names, size_t twice)
{
    const sl_vocab *v = f->v;
    if (twice != SIZE_MAX)
        return bad_piece(f, twice, v->tokens[twice], "there is such a piece already");
    if (v->unk < 0)
        return sl_fail(f->err, SL_EFORMAT, "no unknown token");
    for (unsigned byte = 0; byte < 256 && v->byte_fallback; byte++) {
        static const char digits[] = "0123456789ABCDEF";
        const char text[] = { '<', '0', 'x', digits[byte / 16], digits[byte % 16], '>' };
        const size_t id = sl_names_find(names, (sl_bytes){ text, sizeof text });
        if (id == SIZE_MAX || v->kinds[id] != SL_TOKEN_BYTE)
            return sl_fail(f->err, SL_EFORMAT, "byte_fallback, but no piece for the byte 0x%02X", byte);
    }
    return SL_OK;
}

static int32_t control_id(const sl_vocab *v, const sl_names *names, sl_bytes text)
{
    const size_t id = sl_names_find(names, text);
    return id != SIZE_MAX && v->kinds[id] == SL_TOKEN_CONTROL ? (int32_t)id : -1;
}

static sl_status find_roles(sl_fill *f, const message *m)
{
    sl_names names = { 0 };
    size_t twice = SIZE_MAX;
    sl_vocab *v = f->v;
    if (sl_names_init(&names, v->tokens, v->n_tokens, &twice))
        return sl_fill_no_memory(f);
    const sl_status rc = check_pieces(f, &names, twice);
    if (!rc) {
        v->bos = control_id(v, &names, m->bos);
        v->eos = control_id(v, &names, m->eos);
        v->pad = control_id(v, &names, m->pad);
    }
    sl_names_fini(&names);
    return rc;
}

/* Control tokens, which SentencePiece itself never takes text for, are matched where the caller wants that.
 * User-defined pieces are the model's own affair. */
static sl_status list_added(sl_fill *f)
{
    sl_vocab *v = f->v;
    size_t n = 0;
    for (size_t i = 0; i < v->n_tokens; i++)
        n += v->kinds[i] == SL_TOKEN_CONTROL;
    v->added = sl_arena_alloc(&v->arena, n, sizeof *v->added);
    if (!v->added)
        return sl_fill_no_memory(f);
    for (size_t i = 0; i < v->n_tokens; i++)
        if (v->kinds[i] == SL_TOKEN_CONTROL)
            v->added[v->n_added++] = (sl_added_token){ .id = (int32_t)i, .special = true };
    return SL_OK;
}

/* ---- around the model ------------------------------------------------------------------------- */

static sl_status add_normalizer(sl_fill *f, const message *m)
{
    sl_norm_step *s = sl_vocab_add_norm(f->v, SL_NORM_SENTENCEPIECE);
    if (!s)
        return sl_fill_no_memory(f);
    s->dummy_prefix = m->prefix;
    s->remove_extra = m->extra;
    s->escape_spaces = m->escape;
    s->space_suffix = m->suffix;
    return sl_fill_keep(f, m->charsmap, &s->pattern);
}

/* Pieces to text: the unknown token's surface, U+2581 to a space, bytes, and one space less at the beginning where
 * the normaliser put or left none. */
static sl_status add_decoder(sl_fill *f, const message *m)
{
    static const sl_decode_kind kinds[] = { SL_DECODE_REPLACE, SL_DECODE_REPLACE, SL_DECODE_BYTE_FALLBACK,
                                            SL_DECODE_FUSE, SL_DECODE_STRIP };
    sl_decode_step *s[SL_COUNT(kinds)] = { 0 };
    const size_t n = SL_COUNT(kinds) - (m->prefix || m->extra ? 0 : 1);
    for (size_t i = 0; i < n; i++)
        if (!sl_vocab_add_decoder(f->v, kinds[i]))
            return sl_fill_no_memory(f);
    for (size_t i = 0; i < n; i++)
        s[i] = &f->v->decoders[i];
    s[0]->pattern = f->v->tokens[f->v->unk];
    s[1]->pattern = (sl_bytes){ SPACE, 3 };
    s[1]->text = (sl_bytes){ " ", 1 };
    if (s[4]) {
        s[4]->pattern = (sl_bytes){ " ", 1 };
        s[4]->strip_first = true;
        s[4]->start = m->extra ? INT32_MAX : 1; /* with remove_extra_whitespaces as many as there are */
    }
    return sl_fill_keep(f, m->surface, &s[0]->text);
}

static sl_status read_all(sl_fill *f, sl_bytes bytes)
{
    message m;
    sl_vocab *v = f->v;
    sl_status rc = read_message(&m, bytes, f->err);
    if (!rc)
        rc = check_message(&m, f->err);
    if (rc)
        return rc;
    v->text = SL_TEXT_CHARS;
    v->model = m.type == 1 ? SL_MODEL_UNIGRAM : SL_MODEL_SCORES;
    v->byte_fallback = m.byte_fallback;
    v->fuse_unk = true;
    rc = read_pieces(f, &m, bytes);
    if (!rc)
        rc = find_roles(f, &m);
    if (!rc)
        rc = list_added(f);
    if (!rc)
        rc = add_normalizer(f, &m);
    return rc ? rc : add_decoder(f, &m);
}

sl_status sl_vocab_read_sentencepiece(sl_vocab *out, const void *bytes, size_t n, sl_err *err)
{
    sl_fill f = { .v = out, .err = err };
    sl_vocab_init(out);
    const sl_status rc = read_all(&f, (sl_bytes){ bytes, n });
    if (rc)
        sl_vocab_fini(out);
    return rc;
}
