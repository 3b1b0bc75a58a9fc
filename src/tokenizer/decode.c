/* decode.c - the steps of a decoder on one token at a time.
 * Source: `tokenizers`, decoders/ and pre_tokenizers/byte_level.rs, metaspace.rs. */
#include "tokenizer/decode.h"

#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/utf8.h"

/* --- one step on one token --------------------------------------------------------------- */

static void replace(sl_bytes pattern, sl_bytes by, sl_bytes in, sl_str *out)
{
    while (in.len > 0) {
        const char *hit = pattern.len > 0 ? memmem(in.data, in.len, pattern.data, pattern.len) : NULL;
        const size_t n = hit ? (size_t)(hit - in.data) : in.len, taken = hit ? n + pattern.len : n;
        sl_str_append(out, in.data, n);
        if (hit)
            sl_str_append(out, by.data, by.len);
        in.data += taken;
        in.len -= taken;
    }
}

static sl_bytes strip(const sl_decode_step *s, sl_bytes in)
{
    const size_t n = s->pattern.len;
    for (size_t i = 0; i < s->start && in.len >= n && memcmp(in.data, s->pattern.data, n) == 0; i++) {
        in.data += n;
        in.len -= n;
    }
    for (size_t i = 0; i < s->stop && in.len >= n && memcmp(in.data + in.len - n, s->pattern.data, n) == 0; i++)
        in.len -= n;
    return in;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* "<0x41>" to 'A'; -1: of another form. */
static int byte_of(sl_bytes s)
{
    if (s.len != 6 || memcmp(s.data, "<0x", 3) != 0 || s.data[5] != '>' || hex(s.data[3]) < 0 || hex(s.data[4]) < 0)
        return -1;
    return hex(s.data[3]) * 16 + hex(s.data[4]);
}

/* Appends; *is_byte: the token became one byte, which later steps leave alone. */
static void run_step(const sl_decode_step *s, bool first, sl_bytes in, bool *is_byte, sl_str *out)
{
    const size_t before = out->len;
    switch (s->kind) {
    case SL_DECODE_BYTE_LEVEL: /* no byte more than the token has */
        sl_str_append(out, in.data, in.len);
        if (!out->failed && in.len > 0) {
            const size_t n = sl_alphabet_bytes(in.data, in.len, out->data + before);
            if (n == SIZE_MAX)
                memcpy(out->data + before, in.data, in.len);
            else
                out->len = before + n;
        }
        break;
    case SL_DECODE_REPLACE:
        replace(s->pattern, s->text, in, out);
        break;
    case SL_DECODE_BYTE_FALLBACK: {
        const int byte = byte_of(in);
        *is_byte = byte >= 0;
        const char c = (char)byte;
        sl_str_append(out, *is_byte ? &c : in.data, *is_byte ? 1 : in.len);
        break;
    }
    case SL_DECODE_METASPACE:
        replace(s->pattern, first && s->strip_first ? (sl_bytes){ "", 0 } : (sl_bytes){ " ", 1 }, in, out);
        break;
    case SL_DECODE_STRIP:
        in = strip(s, in);
        sl_str_append(out, in.data, in.len);
        break;
    case SL_DECODE_FUSE:
        sl_str_append(out, in.data, in.len);
        break;
    }
}

/* All steps on the token as it is stored; `a` and `b` are room, the result is in one of them. */
static sl_bytes decode(const sl_decoder *d, bool first, sl_bytes in, sl_str *a, sl_str *b)
{
    bool is_byte = false;
    for (size_t i = 0; i < d->n_steps && !is_byte; i++) {
        sl_str_clear(a);
        run_step(&d->step[i], first, in, &is_byte, a);
        if (a->failed)
            return (sl_bytes){ NULL, 0 };
        in = (sl_bytes){ a->len > 0 ? a->data : "", a->len };
        sl_str *other = a;
        a = b;
        b = other;
    }
    return in;
}

/* --- making ------------------------------------------------------------------------------ */

static sl_status refuse(const char *what, sl_err *err)
{
    return sl_fail(err, SL_EUNSUPPORTED, "decoder: %s is not supported", what);
}

/* What may follow FUSE: each token can still be treated alone. */
static sl_status check_fused(sl_decoder *d, const sl_decode_step *s, sl_err *err)
{
    unsigned n = 0;
    switch (s->kind) {
    case SL_DECODE_BYTE_LEVEL:
        return refuse("ByteLevel behind Fuse", err);
    case SL_DECODE_BYTE_FALLBACK:
        return refuse("ByteFallback behind Fuse", err);
    case SL_DECODE_REPLACE:
        if (s->pattern.len > 0 && sl_utf8_length((unsigned char)s->pattern.data[0]) != s->pattern.len)
            return refuse("Replace of more than one character behind Fuse", err);
        return SL_OK;
    case SL_DECODE_METASPACE:
        return s->strip_first ? refuse("Metaspace behind Fuse", err) : SL_OK;
    case SL_DECODE_STRIP:
        if (s->stop > 0)
            return refuse("Strip at the end behind Fuse", err);
        if (d->n_strip > 0)
            return refuse("a second Strip behind Fuse", err);
        d->strip = sl_utf8_decode(s->pattern.data, &n);
        d->n_strip = s->start;
        d->strip_each = s->strip_first;
        return SL_OK;
    case SL_DECODE_FUSE:
        return SL_OK;
    }
    return SL_OK;
}

static sl_status check_step(const sl_decode_step *s, sl_err *err)
{
    size_t n_pattern = 0, n_text = 0;
    if (sl_utf8_valid(s->pattern.data, s->pattern.len, &n_pattern) < s->pattern.len ||
        sl_utf8_valid(s->text.data, s->text.len, &n_text) < s->text.len)
        return sl_fail(err, SL_EFORMAT, "decoder: a text that is not UTF-8");
    if ((s->kind == SL_DECODE_STRIP || s->kind == SL_DECODE_METASPACE) && n_pattern != 1)
        return sl_fail(err, SL_EFORMAT, "decoder: %zu characters to strip or replace, not one", n_pattern);
    return SL_OK;
}

static bool keep_bytes(sl_decoder *d, sl_bytes *s)
{
    char *copy = sl_arena_memdup(&d->arena, s->data, s->len);
    s->data = copy;
    return copy;
}

static sl_status keep_steps(sl_decoder *d, const sl_vocab *v, sl_err *err)
{
    bool fused = false, stripped = false;
    d->step = sl_arena_alloc(&d->arena, v->n_decoders, sizeof *d->step);
    if (!d->step)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu steps of a decoder", v->n_decoders);
    for (size_t i = 0; i < v->n_decoders; i++) {
        sl_decode_step s = v->decoders[i];
        sl_status rc = check_step(&s, err);
        if (rc == SL_OK && fused && stripped && s.kind != SL_DECODE_FUSE)
            rc = refuse("a step behind Fuse and Strip", err);
        if (rc == SL_OK && fused)
            rc = check_fused(d, &s, err);
        if (rc != SL_OK)
            return rc;
        stripped = stripped || (fused && s.kind == SL_DECODE_STRIP);
        fused = fused || s.kind == SL_DECODE_FUSE;
        d->each_byte = d->each_byte || s.kind == SL_DECODE_BYTE_FALLBACK;
        d->first_differs = d->first_differs || (s.kind == SL_DECODE_METASPACE && s.strip_first);
        if (s.kind == SL_DECODE_FUSE || (fused && s.kind == SL_DECODE_STRIP))
            continue; /* done */
        if (!keep_bytes(d, &s.pattern) || !keep_bytes(d, &s.text))
            return sl_fail(err, SL_ENOMEM, "no memory for %zu steps of a decoder", v->n_decoders);
        d->step[d->n_steps++] = s;
    }
    return SL_OK;
}

/* Does the lexicon already have what the decoder would make? */
static bool as_in_lexicon(const sl_vocab *v)
{
    const bool bytes = v->n_decoders == 0 || (v->n_decoders == 1 && v->decoders[0].kind == SL_DECODE_BYTE_LEVEL);
    return v->n_decoders == 0 || (v->text == SL_TEXT_ALPHABET && bytes);
}

/* A verbatim token that could be read in the alphabet is, by the decoder. */
static bool reads_otherwise(const sl_lexicon *x, size_t id)
{
    const sl_bytes s = sl_lexicon_bytes(x, id);
    bool ascii = true;
    for (size_t i = 0; i < s.len && ascii; i++)
        ascii = (unsigned char)s.data[i] < 0x80;
    if (ascii || !(x->kind[id] & SL_LEXICON_VERBATIM))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] >= 0xc6) /* the alphabet ends with U+0143 */
            return false;
    return true;
}

static sl_status decode_all(sl_decoder *d, const sl_vocab *v, const sl_bytes *tokens, sl_err *err)
{
    sl_str all = { 0 }, a = { 0 }, b = { 0 };
    sl_status rc = SL_OK;
    d->offset = sl_mem_alloc((v->n_tokens + 1) * sizeof *d->offset);
    if (!d->offset)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu decoded tokens", v->n_tokens);
    for (size_t i = 0; i < v->n_tokens && all.len <= UINT32_MAX; i++) {
        d->offset[i] = (uint32_t)all.len;
        const sl_bytes stored = tokens[i].len > 0 ? tokens[i] : (sl_bytes){ "", 0 };
        const sl_bytes s = decode(d, false, stored, &a, &b);
        all.failed = all.failed || !s.data;
        sl_str_append(&all, s.data, s.len);
    }
    d->offset[v->n_tokens] = (uint32_t)all.len;
    if (all.len > UINT32_MAX)
        rc = sl_fail(err, SL_EFORMAT, "vocabulary: 4 GiB of decoded text");
    d->text = all.failed || rc != SL_OK ? NULL : sl_mem_alloc(all.len);
    if (rc == SL_OK && !d->text)
        rc = sl_fail(err, SL_ENOMEM, "no memory for %zu decoded tokens", v->n_tokens);
    if (rc == SL_OK && all.len > 0)
        memcpy(d->text, all.data, all.len);
    sl_str_fini(&all);
    sl_str_fini(&a);
    sl_str_fini(&b);
    return rc;
}

static sl_status decode_with(sl_decoder *d, const sl_vocab *v, const sl_decode_other *other, size_t n_other,
                             sl_err *err)
{
    sl_bytes *tokens = sl_mem_alloc(v->n_tokens * sizeof *tokens);
    if (!tokens)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu decoded tokens", v->n_tokens);
    if (v->n_tokens > 0)
        memcpy(tokens, v->tokens, v->n_tokens * sizeof *tokens);
    for (size_t i = 0; i < n_other; i++)
        tokens[other[i].id] = other[i].text;
    const sl_status rc = decode_all(d, v, tokens, err);
    sl_mem_free(tokens);
    return rc;
}

sl_status sl_decoder_init(sl_decoder *d, const sl_vocab *v, const sl_lexicon *x, const sl_decode_other *other,
                          size_t n_other, sl_err *err)
{
    *d = (sl_decoder){ .lexicon = x };
    sl_arena_init(&d->arena, 1024);
    d->join_by_space = v->n_decoders == 0 && v->text == SL_TEXT_CHARS;
    sl_status rc = keep_steps(d, v, err);
    bool same = as_in_lexicon(v);
    for (size_t i = 0; i < x->n && v->n_decoders > 0 && same; i++)
        same = !reads_otherwise(x, i);
    for (size_t i = 0; i < n_other && same; i++) {
        const sl_bytes own = sl_lexicon_bytes(x, (size_t)other[i].id);
        same = own.len == other[i].text.len && memcmp(own.data, other[i].text.data, own.len) == 0;
    }
    if (rc == SL_OK && !same)
        rc = decode_with(d, v, other, n_other, err);
    if (rc != SL_OK)
        sl_decoder_fini(d);
    return rc;
}

void sl_decoder_fini(sl_decoder *d)
{
    sl_mem_free(d->text);
    sl_mem_free(d->offset);
    sl_arena_fini(&d->arena);
    *d = (sl_decoder){ 0 };
}

void sl_decoder_first(const sl_decoder *d, size_t id, sl_str *out)
{
    sl_str a = { 0 }, b = { 0 };
    /* Only steps of METASPACE look at the place, and those come with tokens stored as characters. */
    const sl_bytes s = decode(d, true, sl_lexicon_bytes(d->lexicon, id), &a, &b);
    out->failed = out->failed || !s.data;
    sl_str_append(out, s.data, s.len);
    sl_str_fini(&a);
    sl_str_fini(&b);
}
