/* bpe_in.h - shared by the files of BPE: what a pair is worth, and what ends up as an id. */
#ifndef SL_TOKENIZER_BPE_IN_H
#define SL_TOKENIZER_BPE_IN_H

#include "tokenizer/bpe.h"

typedef struct sl_bpe_pair {
    uint32_t rank; /* SL_NO_RANK: stays apart */
    int32_t joined;
} sl_bpe_pair;

#define SL_BPE_FROZEN 0x80000000u /* in a symbol's start: it stays as it is */

static inline uint64_t sl_bpe_hash(int32_t left, int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    const uint64_t h = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

/* The worth of the neighbours text[start..end), of ids left and right. */
static inline sl_bpe_pair sl_bpe_rate(const sl_bpe *b, sl_bpe_work *w, const char *text, int32_t left, int32_t right,
                                      uint32_t start, uint32_t middle, uint32_t end)
{
    if (b->model == SL_MODEL_MERGES) {
        for (size_t i = sl_bpe_hash(left, right) & b->mask;; i = (i + 1) & b->mask) {
            const sl_merge *m = &b->slot[i];
            if (m->rank == SL_NO_RANK || (m->left == left && m->right == right))
                return (sl_bpe_pair){ m->rank, m->joined };
        }
    }
    if ((start | middle) & SL_BPE_FROZEN)
        return (sl_bpe_pair){ SL_NO_RANK, -1 };
    end &= ~SL_BPE_FROZEN;
    const int32_t id = sl_lexicon_find_bytes(b->lexicon, text + start, end - start);
    if (id < 0)
        return (sl_bpe_pair){ SL_NO_RANK, -1 };
    if (b->resegments && sl_lexicon_kind(b->lexicon, (size_t)id) == SL_TOKEN_UNUSED)
        w->split[id] = (sl_bpe_split){ start, middle - start };
    return (sl_bpe_pair){ b->model == SL_MODEL_RANKS ? (uint32_t)id : b->order[id], id };
}

/* The symbols that a text starts from, at most len + 1: the one more is the unknown token that the
 * part before has left pending. start[] is where each begins. */
size_t sl_bpe_symbols(const sl_bpe *b, sl_bpe_work *w, const char *text, size_t len, int32_t *id, uint32_t *start);

/* Append what became of the symbol text[start..end). */
sl_status sl_bpe_emit(const sl_bpe *b, sl_bpe_work *w, const char *text, uint32_t start, uint32_t end, int32_t id,
                      sl_ids *ids, sl_err *err);

/* A text of any length. */
sl_status sl_bpe_encode_long(const sl_bpe *b, sl_bpe_work *w, const char *text, size_t len, sl_ids *ids, sl_err *err);

#endif
