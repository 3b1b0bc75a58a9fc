/* detok.c - ids to text, whole characters only. */
#include <string.h>

#include "tokenizer/impl.h"
#include "tokenizer/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define TAIL_BYTES  4              /* of a text behind which an answer starts: all that an open character can be */

static bool shows(const sl_tokenizer *t, int32_t id, bool special)
{
    return id >= 0 && (size_t)id < t->lexicon.n && (special || !(t->lexicon.kind[id] & SL_LEXICON_HIDDEN));
}

sl_bytes sl_token_bytes(const sl_tokenizer *t, int32_t id, bool special)
{
    return shows(t, id, special) ? sl_decoder_bytes(&t->decoder, (size_t)id) : (sl_bytes){ "", 0 };
}

sl_bytes sl_token_written(const sl_tokenizer *t, int32_t id)
{
    return shows(t, id, true) ? sl_lexicon_bytes(&t->lexicon, (size_t)id) : (sl_bytes){ "", 0 };
}

void sl_detok_init(sl_detok *d, const sl_tokenizer *t, bool special)
{
    *d = (sl_detok){ .tokenizer = t, .special = special, .n_strip = t->decoder.n_strip };
}

/* Whole characters; some may go at the beginning of a text. */
static void give(sl_detok *d, const char *s, size_t n, sl_str *out)
{
    while (d->n_strip > 0 && n > 0) {
        unsigned bytes = 1;
        if (sl_utf8_decode(s, &bytes) != d->tokenizer->decoder.strip || d->n_strip_now == 0)
            d->n_strip = 0;
        else {
            d->n_strip--;
            d->n_strip_now--;
            s += bytes;
            n -= bytes;
        }
    }
    sl_str_append(out, s, n);
}

void sl_detok_flush(sl_detok *d, sl_str *out)
{
    /* What is held is one maximal part of a character. */
    const unsigned n_new = d->n_held - d->n_old;
    const unsigned n = d->tokenizer->decoder.each_byte ? n_new : n_new > 0;
    for (unsigned i = 0; i < n; i++)
        give(d, REPLACEMENT, 3, out);
    d->n_held = d->n_old = 0;
}

/* Take one byte while a character is open or begins. */
static void take(sl_detok *d, unsigned char c, sl_str *out)
{
    if (d->n_held > 0 && !sl_utf8_follows(d->held[0], d->n_held, c))
        sl_detok_flush(d, out); /* c may begin the next one */
    if (d->n_held == 0 && sl_utf8_length(c) == 0) {
        give(d, REPLACEMENT, 3, out);
        return;
    }
    d->held[d->n_held++] = c;
    if (d->n_held == sl_utf8_length(d->held[0])) {
        give(d, (const char *)d->held, d->n_held, out);
        d->n_held = d->n_old = 0;
    }
}

static void feed(sl_detok *d, sl_bytes bytes, sl_str *out)
{
    for (size_t i = 0; i < bytes.len;) {
        size_t n_chars = 0;
        const size_t whole = d->n_held == 0 ? sl_utf8_valid(bytes.data + i, bytes.len - i, &n_chars) : 0;
        give(d, bytes.data + i, whole, out);
        i += whole;
        if (i < bytes.len)
            take(d, (unsigned char)bytes.data[i++], out);
    }
}

/* SentencePiece takes its mark for a space away, and no other space: not that of a byte, of the unknown token's
 * surface or of a piece with a true one, all of which are text that ends the beginning. */
static bool begins_with_mark(const sl_tokenizer *t, size_t id)
{
    const sl_bytes stored = sl_lexicon_bytes(&t->lexicon, id);
    return sl_lexicon_kind(&t->lexicon, id) != SL_TOKEN_UNKNOWN && stored.len >= 3 &&
           memcmp(stored.data, "\xe2\x96\x81", 3) == 0;
}

void sl_detok_next(sl_detok *d, int32_t id, sl_str *out)
{
    const sl_decoder *decoder = &d->tokenizer->decoder;
    if (!shows(d->tokenizer, id, d->special) || sl_lexicon_bytes(&d->tokenizer->lexicon, (size_t)id).len == 0)
        return;
    d->n_strip_now = decoder->strip_each ? 1 : SIZE_MAX;
    if (decoder->strip_each && !begins_with_mark(d->tokenizer, (size_t)id))
        d->n_strip = 0;
    if (!d->begun && decoder->first_differs) {
        sl_str first = { 0 };
        sl_decoder_first(decoder, (size_t)id, &first);
        feed(d, (sl_bytes){ first.len > 0 ? first.data : "", first.len }, out);
        out->failed = out->failed || first.failed;
        sl_str_fini(&first);
    } else {
        if (d->begun && decoder->join_by_space)
            feed(d, (sl_bytes){ " ", 1 }, out);
        feed(d, sl_decoder_bytes(decoder, (size_t)id), out);
    }
    d->begun = true;
}

void sl_detok_init_after(sl_detok *d, const sl_tokenizer *t, bool special, const int32_t *ids, size_t n)
{
    unsigned char tail[TAIL_BYTES];
    size_t used = 0;
    sl_detok_init(d, t, special);
    for (size_t i = n; i-- > 0 && used < sizeof tail;) {
        const sl_bytes bytes = sl_token_bytes(t, ids[i], special);
        d->begun = d->begun || bytes.len > 0;
        for (size_t k = bytes.len; k-- > 0 && used < sizeof tail;)
            tail[used++] = (unsigned char)bytes.data[k];
    }
    if (d->begun)
        d->n_strip = 0;
    /* The last byte that begins a character decides, whatever came before it. */
    for (size_t i = 0; i < used && d->n_held == 0; i++) {
        const unsigned need = sl_utf8_length(tail[i]);
        if (need == 0 && (tail[i] & 0xc0) == 0x80)
            continue;
        for (size_t k = i + 1; k-- > 0 && need > i + 1;) {
            if (k < i && !sl_utf8_follows(tail[i], d->n_held, tail[k])) {
                d->n_held = 0;
                break;
            }
            d->held[d->n_held++] = tail[k];
        }
        break;
    }
    d->n_old = d->n_held;
}
