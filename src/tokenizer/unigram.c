/* unigram.c - forward over the characters, back along the best path. */
#include "tokenizer/unigram.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/utf8.h"

#define UNKNOWN_PENALTY 10.0
#define NOWHERE         UINT32_MAX

/* --- making ------------------------------------------------------------------------------ */

static sl_status copy_scores(sl_unigram *u, const sl_vocab *v, sl_err *err)
{
    double least = u->as_double ? DBL_MAX : FLT_MAX;
    if (!v->scores)
        return sl_fail(err, SL_EFORMAT, "vocabulary: no scores");
    u->score = sl_mem_alloc(v->n_tokens * sizeof *u->score);
    if (!u->score)
        return sl_fail(err, SL_ENOMEM, "%zu scores", v->n_tokens);
    for (size_t i = 0; i < v->n_tokens; i++) {
        const sl_token_kind kind = sl_lexicon_kind(u->lexicon, i);
        if (isnan(v->scores[i]))
            return sl_fail(err, SL_EFORMAT, "vocabulary: the score of token %zu is not a number", i);
        u->score[i] = u->as_double ? v->scores[i] : (double)(float)v->scores[i];
        if (kind == SL_TOKEN_NORMAL || (u->as_double && kind != SL_TOKEN_UNUSED))
            least = SL_MIN(least, u->score[i]);
    }
    u->unknown = least - UNKNOWN_PENALTY;
    if (!u->as_double)
        u->unknown = (double)(float)u->unknown;
    return SL_OK;
}

static sl_status make_trie(sl_unigram *u, sl_err *err)
{
    const sl_lexicon *x = u->lexicon;
    sl_bytes *text = sl_mem_zalloc(x->n, sizeof *text);
    if (!text)
        return sl_fail(err, SL_ENOMEM, "a table of %zu tokens", x->n);
    for (size_t i = 0; i < x->n; i++)
        if (!(x->kind[i] & SL_LEXICON_VERBATIM))
            text[i] = sl_lexicon_bytes(x, i);
    const sl_status rc = sl_trie_init(&u->trie, text, x->n, err);
    sl_mem_free(text);
    return rc;
}

sl_status sl_unigram_init(sl_unigram *u, const sl_lexicon *x, const sl_vocab *v, sl_err *err)
{
    *u = (sl_unigram){ .lexicon = x,
                       .as_double = v->double_scores,
                       .byte_fallback = v->byte_fallback,
                       .fuse_unk = v->fuse_unk,
                       .unk = v->unk };
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        u->byte_id[byte] = sl_lexicon_find(x, name, 6);
    }
    sl_status rc = copy_scores(u, v, err);
    if (rc == SL_OK)
        rc = make_trie(u, err);
    if (rc != SL_OK)
        sl_unigram_fini(u);
    return rc;
}

void sl_unigram_fini(sl_unigram *u)
{
    sl_mem_free(u->score);
    sl_trie_fini(&u->trie);
    *u = (sl_unigram){ 0 };
}

void sl_unigram_work_fini(sl_unigram_work *w)
{
    sl_mem_free(w->nodes);
    *w = (sl_unigram_work){ 0 };
}

/* --- the best path ----------------------------------------------------------------------- */

typedef struct node {
    double sum;    /* of the best path that ends here */
    int32_t id;    /* its last token; -1: unknown */
    uint32_t from; /* where that begins; on the way back, where the next one ends */
} node;

static inline void offer(const sl_unigram *u, node *end, double sum, int32_t id, uint32_t from)
{
    if (!u->as_double)
        sum = (double)(float)sum; /* of two floats: the same as adding floats */
    if (end->from == NOWHERE || sum > end->sum)
        *end = (node){ sum, id, from };
}

static double worth(const sl_unigram *u, int32_t id, size_t len)
{
    if (!u->as_double && sl_lexicon_kind(u->lexicon, (size_t)id) == SL_TOKEN_USER)
        return (double)((float)(len - 1) * 0.1f); /* sentencepiece 0.2.3, so that it is chosen */
    return u->score[id];
}

static void forward(const sl_unigram *u, node *at, const char *text, size_t len)
{
    const sl_trie *t = &u->trie;
    at[0] = (node){ 0.0, -1, 0 };
    for (size_t i = 1; i <= len; i++)
        at[i].from = NOWHERE;
    for (size_t i = 0; i < len;) {
        const double sum = at[i].sum;
        const size_t one = sl_utf8_length((unsigned char)text[i]);
        bool known = false;
        uint32_t place = 0;
        for (size_t k = i; t->n > 0 && k < len; k++) {
            place = sl_trie_step(t, place, (unsigned char)text[k]);
            if (place == 0)
                break;
            const int32_t id = t->value[place];
            if (id < 0)
                continue;
            known = known || k + 1 - i == one;
            offer(u, &at[k + 1], worth(u, id, k + 1 - i) + sum, id == u->unk ? -1 : id, (uint32_t)i);
        }
        if (!known)
            offer(u, &at[i + one], u->unknown + sum, -1, (uint32_t)i);
        i += one;
    }
}

/* Turns the links of the path round; the first token's end. */
static uint32_t turn(node *at, uint32_t end)
{
    uint32_t next = NOWHERE;
    while (end > 0) {
        const uint32_t from = at[end].from;
        at[end].from = next;
        next = end;
        end = from;
    }
    return next;
}

static sl_status emit_unknown(const sl_unigram *u, const char *text, size_t len, sl_ids *ids, sl_err *err)
{
    bool bytes = u->byte_fallback;
    for (size_t i = 0; i < len && bytes; i++)
        bytes = u->byte_id[(unsigned char)text[i]] >= 0;
    sl_status rc = SL_OK;
    const int32_t written = u->as_double ? sl_lexicon_find_bytes(u->lexicon, text, len) : -1;
    if (written >= 0) /* the unknown token's own name */
        return sl_ids_push(ids, written, err);
    for (size_t i = 0; i < len && bytes && rc == SL_OK; i++)
        rc = sl_ids_push(ids, u->byte_id[(unsigned char)text[i]], err);
    return bytes || u->unk < 0 ? rc : sl_ids_push(ids, u->unk, err);
}

sl_status sl_unigram_encode(const sl_unigram *u, sl_unigram_work *w, const char *text, size_t len, sl_ids *ids,
                            sl_err *err)
{
    sl_status rc = SL_OK;
    if (len > INT32_MAX)
        return sl_fail(err, SL_EINVAL, "%zu bytes of text without a break", len);
    if (w->n_nodes < len + 1) {
        sl_unigram_work_fini(w);
        w->nodes = sl_mem_alloc((len + 1) * sizeof(node));
        if (!w->nodes)
            return sl_fail(err, SL_ENOMEM, "cutting %zu bytes of text without a break", len);
        w->n_nodes = len + 1;
    }
    node *at = w->nodes;
    forward(u, at, text, len);
    for (uint32_t start = 0, end = len > 0 ? turn(at, (uint32_t)len) : NOWHERE; end != NOWHERE && rc == SL_OK;) {
        uint32_t next = at[end].from;
        if (at[end].id >= 0) {
            rc = sl_ids_push(ids, at[end].id, err);
        } else {
            for (; u->fuse_unk && next != NOWHERE && at[next].id < 0; next = at[next].from)
                end = next;
            rc = emit_unknown(u, text + start, end - start, ids, err);
        }
        start = end;
        end = next;
    }
    return rc;
}

sl_status sl_unigram_encode_byte(const sl_unigram *u, unsigned char byte, sl_ids *ids, sl_err *err)
{
    const int32_t id = u->byte_id[byte] >= 0 ? u->byte_id[byte] : u->unk;
    return id >= 0 ? sl_ids_push(ids, id, err) : SL_OK;
}
