/* encode.c - text to ids: cut, added tokens out, normalise, added tokens out again, pieces, model. */
#include <string.h>

#include "base/num.h"
#include "tokenizer/chars.h"
#include "tokenizer/impl.h"
#include "tokenizer/piece_cache.h"
#include "tokenizer/utf8.h"

typedef struct encoding {
    const sl_tokenizer *t;
    sl_ids *ids;
    bool special; /* control tokens are recognised */
    const char *text;
    const size_t *apart; /* [n_apart] places in the text over which they are not */
    size_t n_apart;
    bool begun; /* something was encoded before */
    sl_pretok_work pretok;
    sl_norm_work norm;
    sl_bpe_work bpe;
    sl_unigram_work unigram;
    sl_piece_cache cache;
} encoding;

/* --- pieces ------------------------------------------------------------------------------ */

static sl_status encode_piece(void *arg, const char *piece, size_t len, sl_err *err)
{
    encoding *e = arg;
    sl_cached *place = NULL;
    const size_t before = e->ids->n;
    if (len == 0)
        return SL_OK;
    const sl_cached *known = sl_piece_cache_find(&e->cache, piece, len, &place);
    if (known)
        return sl_ids_append(e->ids, known->id, known->n, err);
    const sl_status rc = e->t->model == SL_MODEL_UNIGRAM
                             ? sl_unigram_encode(&e->t->unigram, &e->unigram, piece, len, e->ids, err)
                             : sl_bpe_encode(&e->t->bpe, &e->bpe, piece, len, e->ids, err);
    if (rc == SL_OK && place)
        sl_piece_cache_keep(place, piece, len, e->ids->data + before, e->ids->n - before);
    return rc;
}

static sl_status encode_byte(encoding *e, char byte, sl_err *err)
{
    e->begun = true;
    return e->t->model == SL_MODEL_UNIGRAM ? sl_unigram_encode_byte(&e->t->unigram, (unsigned char)byte, e->ids, err)
                                           : sl_bpe_encode_byte(&e->t->bpe, (unsigned char)byte, e->ids, err);
}

/* Normalised text without added tokens. */
static sl_status encode_plain(encoding *e, const char *text, size_t len, sl_err *err)
{
    size_t n_chars = 0;
    const bool first = !e->begun;
    if (len == 0)
        return SL_OK;
    e->begun = true;
    if (!e->t->pretok)
        return encode_piece(e, text, len, err);
    sl_utf8_valid(text, len, &n_chars);
    return sl_pretok_split(e->t->pretok, &e->pretok, text, len, n_chars, first, encode_piece, e, err);
}

/* --- stretches --------------------------------------------------------------------------- */

/* Places are known in the text as it came. Where a stretch that holds one is changed, no control
 * token is looked for in it. */
static sl_added_walk walk_over(const encoding *e, const sl_added *set, sl_bytes text, sl_bytes from)
{
    const size_t base = (size_t)(from.data - e->text);
    const bool same = text.data == from.data && text.len == from.len;
    const bool lost = !same && sl_places_between(e->apart, e->n_apart, base, base + from.len);
    return (sl_added_walk){ .set = set,
                            .text = text.data,
                            .len = text.len,
                            .special = e->special && !lost,
                            .no_control = lost,
                            .apart = e->apart,
                            .n_apart = same ? e->n_apart : 0,
                            .base = base };
}

/* Whole UTF-8 without the tokens that are matched as they stand. */
static sl_status encode_utf8(encoding *e, sl_bytes text, bool inside, sl_err *err)
{
    sl_bytes form = { 0 };
    sl_added_match m = { 0 };
    sl_status rc = sl_norm_apply(e->t->norm, &e->norm, text, inside, &form, err);
    if (rc != SL_OK)
        return rc;
    sl_added_walk walk = walk_over(e, &e->t->normalized, form, text);
    size_t at = 0;
    while (rc == SL_OK && walk.set->n > 0 && sl_added_next(&walk, &m)) {
        if (m.start > at)
            rc = encode_plain(e, form.data + at, m.start - at, err);
        if (rc == SL_OK)
            rc = sl_ids_push(e->ids, m.id, err);
        e->begun = true;
        at = m.end;
    }
    return rc == SL_OK ? encode_plain(e, form.data + at, form.len - at, err) : rc;
}

/* Its stretches of UTF-8, and what is not UTF-8 as lone bytes. */
static sl_status encode_stretch(encoding *e, const char *text, size_t len, sl_err *err)
{
    sl_status rc = SL_OK;
    for (size_t at = 0; at < len && rc == SL_OK;) {
        size_t n_chars = 0;
        const size_t whole = sl_utf8_valid(text + at, len - at, &n_chars);
        rc = whole > 0 ? encode_utf8(e, (sl_bytes){ text + at, whole }, at > 0, err) : encode_byte(e, text[at], err);
        at += whole > 0 ? whole : 1;
    }
    return rc;
}

static sl_status encode_text(encoding *e, const char *text, size_t len, sl_err *err)
{
    sl_status rc = SL_OK;
    sl_added_match m = { 0 };
    sl_added_walk walk = walk_over(e, &e->t->raw, (sl_bytes){ text, len }, (sl_bytes){ text, len });
    size_t at = 0;
    while (rc == SL_OK && walk.set->n > 0 && sl_added_next(&walk, &m)) {
        if (m.start > at)
            rc = encode_stretch(e, text + at, m.start - at, err);
        if (rc == SL_OK)
            rc = sl_ids_push(e->ids, m.id, err);
        e->begun = true;
        at = m.end;
    }
    return rc == SL_OK ? encode_stretch(e, text + at, len - at, err) : rc;
}

/* --- cutting before all else ------------------------------------------------------------- */

/* The character at text[at], or a byte that is none. */
static uint32_t step(const char *text, size_t len, size_t *at)
{
    unsigned n = sl_utf8_length((unsigned char)text[*at]);
    size_t n_chars = 0;
    if (n == 0 || n > len - *at || sl_utf8_valid(text + *at, n, &n_chars) < n) {
        (*at)++;
        return SL_NO_CHAR;
    }
    const uint32_t c = sl_utf8_decode(text + *at, &n);
    *at += n;
    return c;
}

/* The length of the first max_chars characters. */
static size_t block_of(const char *text, size_t len, size_t max_chars)
{
    size_t at = 0;
    if (max_chars == 0 || len <= max_chars)
        return len;
    for (size_t n = 0; n < max_chars && at < len; n++)
        step(text, len, &at);
    return at;
}

/* The length up to the place where a run of white space, or of anything else, gets longer than
 * max_run characters (meta-llama/llama-models, tokenizer.py). */
static size_t part_of(const char *text, size_t len, size_t max_run)
{
    bool blank = false;
    if (max_run == 0 || len <= max_run)
        return len;
    for (size_t at = 0, run = 0; at < len;) {
        const size_t from = at;
        const bool now = sl_char_is_python_space(step(text, len, &at));
        run = now == blank || from == 0 ? run + 1 : 1;
        blank = now;
        if (run > max_run)
            return from;
    }
    return len;
}

static sl_status encode_parts(encoding *e, const char *text, size_t len, sl_err *err)
{
    sl_status rc = SL_OK;
    for (size_t at = 0; at < len && rc == SL_OK;) {
        const size_t end = at + block_of(text + at, len - at, e->t->max_chars);
        while (at < end && rc == SL_OK) {
            const size_t n = part_of(text + at, end - at, e->t->max_run);
            rc = encode_text(e, text + at, n, err);
            at += n;
        }
    }
    return rc;
}

sl_status sl_tokenize_apart(const sl_tokenizer *t, const char *text, size_t len, const size_t *apart, size_t n_apart,
                            unsigned flags, sl_ids *ids, sl_err *err)
{
    const size_t n_before = ids->n;
    encoding e = {
        .t = t, .ids = ids, .special = flags & SL_TOK_PARSE_SPECIAL, .text = text, .apart = apart, .n_apart = n_apart
    };
    sl_status rc = SL_OK;
    const bool around = flags & SL_TOK_ADD_SPECIAL;
    if (around)
        rc = sl_ids_append(ids, t->around, t->n_prefix, err);
    if (rc == SL_OK)
        rc = encode_parts(&e, text, len, err);
    if (rc == SL_OK && around)
        rc = sl_ids_append(ids, t->around + t->n_prefix, t->n_suffix, err);
    if (rc != SL_OK)
        ids->n = n_before;
    sl_pretok_work_fini(&e.pretok);
    sl_norm_work_fini(&e.norm);
    sl_bpe_work_fini(&e.bpe);
    sl_unigram_work_fini(&e.unigram);
    sl_piece_cache_fini(&e.cache);
    return rc;
}

sl_status sl_tokenize(const sl_tokenizer *t, const char *text, size_t len, unsigned flags, sl_ids *ids, sl_err *err)
{
    return sl_tokenize_apart(t, text, len, NULL, 0, flags, ids, err);
}
