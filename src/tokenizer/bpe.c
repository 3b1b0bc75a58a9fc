/* bpe.c - from a piece to symbols, the plain loop that joins those of a word, and from symbols
 * to ids.
 * Sources: Sennrich et al. 2016, arXiv 1508.07909, algorithm 1; `tokenizers` models/bpe;
 * sentencepiece bpe_model.cc; tiktoken. */
#include "tokenizer/bpe.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/bpe_in.h"
#include "tokenizer/seam.h"
#include "tokenizer/utf8.h"

#define SHORT_MOST  48 /* symbols up to which the loop, quadratic but without a heap, is faster */
#define UNUSED_DEEP 64 /* unused tokens inside unused tokens */

void sl_bpe_work_fini(sl_bpe_work *w)
{
    sl_mem_free(w->block);
    sl_mem_free(w->split);
    sl_piece_cache_fini(&w->cache);
    *w = (sl_bpe_work){ 0 };
}

/* --- symbols ----------------------------------------------------------------------------- */

static size_t byte_symbols(const sl_bpe *b, const char *text, size_t len, int32_t *id, uint32_t *start)
{
    size_t n = 0;
    const bool keep = b->model == SL_MODEL_RANKS; /* there the text itself decides what joins */
    for (size_t i = 0; i < len; i++) {
        id[n] = b->byte_id[(unsigned char)text[i]];
        start[n] = (uint32_t)i;
        n += keep || id[n] >= 0; /* else it is left out, as in the reference */
    }
    return n;
}

static bool has_bytes(const sl_bpe *b, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (b->byte_id[(unsigned char)text[i]] < 0)
            return false;
    return true;
}

/* `tokenizers`: a character, else its bytes, else the unknown token. Neighbouring unknown ones
 * become one token, which is written when the next known character comes; bytes do not count as
 * one. */
static size_t merge_symbols(const sl_bpe *b, sl_bpe_work *w, const char *text, size_t len, int32_t *id, uint32_t *start)
{
    size_t n = 0;
    for (size_t i = 0, bytes = 0; i < len; i += bytes) {
        bytes = sl_utf8_length((unsigned char)text[i]);
        const int32_t one = sl_lexicon_find_bytes(b->lexicon, text + i, bytes);
        if (one >= 0) {
            if (w->pending) {
                start[n] = (uint32_t)i;
                id[n++] = b->unk;
            }
            w->pending = false;
            start[n] = (uint32_t)i;
            id[n++] = one;
        } else if (b->byte_fallback && has_bytes(b, text + i, bytes)) {
            for (size_t k = 0; k < bytes; k++) {
                start[n] = (uint32_t)(i + k);
                id[n++] = b->byte_id[(unsigned char)text[i + k]];
            }
        } else if (b->unk >= 0) {
            if (w->pending && !b->fuse_unk) {
                start[n] = (uint32_t)i;
                id[n++] = b->unk;
            }
            w->pending = true;
        }
    }
    return n;
}

/* sentencepiece: a token of the user, else a character, with or without a token. */
static size_t score_symbols(const sl_bpe *b, const char *text, size_t len, int32_t *id, uint32_t *start)
{
    size_t n = 0;
    for (size_t i = 0, bytes = 0; i < len; i += bytes, n++) {
        const int32_t user = sl_trie_longest(&b->user, text + i, b->user.n > 0 ? len - i : 0, &bytes);
        start[n] = (uint32_t)i | (user >= 0 ? SL_BPE_FROZEN : 0);
        if (user >= 0) {
            id[n] = b->user_id[user];
            continue;
        }
        bytes = sl_utf8_length((unsigned char)text[i]);
        id[n] = sl_lexicon_find_bytes(b->lexicon, text + i, bytes);
        if (id[n] >= 0 && sl_lexicon_kind(b->lexicon, (size_t)id[n]) == SL_TOKEN_UNUSED)
            id[n] = -1;
    }
    return n;
}

size_t sl_bpe_symbols(const sl_bpe *b, sl_bpe_work *w, const char *text, size_t len, int32_t *id, uint32_t *start)
{
    if (!b->chars)
        return byte_symbols(b, text, len, id, start);
    if (b->model == SL_MODEL_MERGES)
        return merge_symbols(b, w, text, len, id, start);
    return score_symbols(b, text, len, id, start);
}

/* --- ids --------------------------------------------------------------------------------- */

static sl_status emit_unknown(const sl_bpe *b, sl_bpe_work *w, const char *text, size_t len, sl_ids *ids, sl_err *err)
{
    sl_status rc = SL_OK;
    if (b->byte_fallback && has_bytes(b, text, len)) {
        for (size_t i = 0; i < len && rc == SL_OK; i++)
            rc = sl_ids_push(ids, b->byte_id[(unsigned char)text[i]], err);
        return rc;
    }
    if (b->unk >= 0 && !(w->prev_unk && b->fuse_unk))
        rc = sl_ids_push(ids, b->unk, err);
    w->prev_unk = true;
    return rc;
}

/* An unused token falls into the two parts that it was last put together from, and so on. */
static sl_status resegment(const sl_bpe *b, sl_bpe_work *w, const char *text, uint32_t start, uint32_t end, int32_t id,
                           sl_ids *ids, sl_err *err)
{
    struct {
        uint32_t start, end;
    } todo[UNUSED_DEEP];
    size_t n = 0;
    for (;;) {
        const bool unused = id >= 0 && sl_lexicon_kind(b->lexicon, (size_t)id) == SL_TOKEN_UNUSED;
        const sl_bpe_split at = unused ? w->split[id] : (sl_bpe_split){ 0 };
        if (at.left_len > 0 && n < UNUSED_DEEP) {
            todo[n].start = at.start + at.left_len;
            todo[n++].end = at.start + (end - start);
            start = at.start;
            end = at.start + at.left_len;
        } else {
            sl_status rc = SL_OK;
            if (id < 0 || unused) {
                rc = emit_unknown(b, w, text + start, end - start, ids, err);
            } else {
                w->prev_unk = false;
                rc = sl_ids_push(ids, id, err);
            }
            if (rc != SL_OK || n == 0)
                return rc;
            n--;
            start = todo[n].start;
            end = todo[n].end;
        }
        id = sl_lexicon_find_bytes(b->lexicon, text + start, end - start);
    }
}

sl_status sl_bpe_emit(const sl_bpe *b, sl_bpe_work *w, const char *text, uint32_t start, uint32_t end, int32_t id,
                      sl_ids *ids, sl_err *err)
{
    start &= ~SL_BPE_FROZEN;
    end &= ~SL_BPE_FROZEN;
    if (b->resegments)
        return resegment(b, w, text, start, end, id, ids, err);
    if (id >= 0) {
        w->prev_unk = false;
        return sl_ids_push(ids, id, err);
    }
    return b->model == SL_MODEL_SCORES ? emit_unknown(b, w, text + start, end - start, ids, err) : SL_OK;
}

sl_status sl_bpe_encode_byte(const sl_bpe *b, unsigned char byte, sl_ids *ids, sl_err *err)
{
    const int32_t id = b->byte_id[byte] >= 0 ? b->byte_id[byte] : b->chars ? b->unk : -1;
    return id >= 0 ? sl_ids_push(ids, id, err) : SL_OK;
}

/* --- words ------------------------------------------------------------------------------- */

typedef struct word {
    int32_t id[SHORT_MOST + 1]; /* one more than bytes: see sl_bpe_symbols */
    uint32_t start[SHORT_MOST + 2];
    sl_bpe_pair pair[SHORT_MOST + 1]; /* of the symbols i and i + 1 */
    size_t n;
} word;

static void rate(const sl_bpe *b, sl_bpe_work *w, const char *text, word *s, size_t i)
{
    s->pair[i] = sl_bpe_rate(b, w, text, s->id[i], s->id[i + 1], s->start[i], s->start[i + 1], s->start[i + 2]);
}

static sl_status encode_short(const sl_bpe *b, sl_bpe_work *w, const char *text, size_t len, sl_ids *ids, sl_err *err)
{
    word s;
    sl_status rc = SL_OK;
    s.n = sl_bpe_symbols(b, w, text, len, s.id, s.start);
    s.start[s.n] = (uint32_t)len;
    for (size_t i = 0; i + 1 < s.n; i++)
        rate(b, w, text, &s, i);
    while (s.n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < s.n; i++)
            if (s.pair[i].rank < s.pair[best].rank)
                best = i;
        if (s.pair[best].rank == SL_NO_RANK)
            break;
        s.id[best] = s.pair[best].joined;
        s.n--;
        memmove(s.id + best + 1, s.id + best + 2, (s.n - best - 1) * sizeof *s.id);
        memmove(s.start + best + 1, s.start + best + 2, (s.n - best) * sizeof *s.start);
        memmove(s.pair + best, s.pair + best + 1, (s.n - best - 1) * sizeof *s.pair);
        if (best > 0)
            rate(b, w, text, &s, best - 1);
        if (best + 1 < s.n)
            rate(b, w, text, &s, best);
    }
    for (size_t i = 0; i < s.n && rc == SL_OK; i++)
        rc = sl_bpe_emit(b, w, text, s.start[i], s.start[i + 1], s.id[i], ids, err);
    return rc;
}

/* --- pieces ------------------------------------------------------------------------------ */

static sl_status encode_part(const sl_bpe *b, sl_bpe_work *w, const char *text, size_t len, sl_ids *ids, sl_err *err)
{
    return len <= SHORT_MOST ? encode_short(b, w, text, len, ids, err) : sl_bpe_encode_long(b, w, text, len, ids, err);
}

static sl_status encode_known(const sl_bpe *b, sl_bpe_work *w, const char *text, size_t len, sl_ids *ids, sl_err *err)
{
    sl_cached *place = NULL;
    const size_t before = ids->n;
    if (w->pending || w->prev_unk) /* what came before matters */
        return encode_part(b, w, text, len, ids, err);
    const sl_cached *known = sl_piece_cache_find(&w->cache, text, len, &place);
    if (known)
        return sl_ids_append(ids, known->id, known->n, err);
    const sl_status rc = encode_part(b, w, text, len, ids, err);
    if (rc == SL_OK && !w->pending && !w->prev_unk)
        sl_piece_cache_keep(place, text, len, ids->data + before, ids->n - before);
    return rc;
}

sl_status sl_bpe_encode(const sl_bpe *b, sl_bpe_work *w, const char *piece, size_t len, sl_ids *ids, sl_err *err)
{
    sl_status rc = SL_OK;
    if (len > INT32_MAX)
        return sl_fail(err, SL_EINVAL, "%zu bytes of text without a break", len);
    if (b->whole_pieces) {
        const int32_t id = sl_lexicon_find_bytes(b->lexicon, piece, len);
        if (id >= 0)
            return sl_ids_push(ids, id, err);
    }
    if (b->resegments && !w->split && !(w->split = sl_mem_zalloc(b->lexicon->n, sizeof *w->split)))
        return sl_fail(err, SL_ENOMEM, "no memory for unused tokens of a vocabulary of %zu", b->lexicon->n);
    w->pending = w->prev_unk = false;
    if (len <= SHORT_MOST || !b->seams)
        rc = encode_part(b, w, piece, len, ids, err);
    else
        for (size_t at = 0, n = 0; at < len && rc == SL_OK; at += n) {
            n = sl_seam_next(b, piece + at, len - at);
            rc = encode_known(b, w, piece + at, n, ids, err);
        }
    return rc == SL_OK && w->pending ? sl_ids_push(ids, b->unk, err) : rc;
}
