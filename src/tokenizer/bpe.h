/* bpe.h - byte pair encoding: a piece of text, byte by byte, merged by rank. */
#ifndef SL_TOKENIZER_BPE_H
#define SL_TOKENIZER_BPE_H

#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "tokenizer/tokenizer.h"

typedef struct sl_merge {
    int32_t left, right, joined; /* ids */
} sl_merge;

/* About 20 bytes for a merge. */
typedef struct sl_bpe {
    int32_t byte_id[256]; /* -1: no token for this byte; it is left out of the text, as in the reference */
    sl_merge *merge;      /* [n], best first: the index is the rank */
    size_t n;
    uint32_t *slot; /* [mask + 1] hash table of rank + 1 by (left, right), 0: free */
    size_t mask;
} sl_bpe;

/* Room for n_merges, none yet, and no byte has a token. SL_ENOMEM; SL_EFORMAT: more than 2^31. */
sl_status sl_bpe_init(sl_bpe *b, size_t n_merges, sl_err *err);
void sl_bpe_fini(sl_bpe *b);

/* Add the next best merge; of equal pairs the last one counts, as in the reference. */
void sl_bpe_add(sl_bpe *b, sl_merge merge);

/* Append the ids of a piece: the pair of lowest rank is joined, of equal ones the leftmost,
 * until no pair has a rank. n log n in its length; heap use only above a few dozen bytes,
 * then 32 bytes for each of the piece. SL_ENOMEM; SL_EINVAL: 2^31 bytes or more. */
sl_status sl_bpe_encode(const sl_bpe *b, const char *piece, size_t len, sl_ids *ids, sl_err *err);

#endif
