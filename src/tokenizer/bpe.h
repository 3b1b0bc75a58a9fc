/* bpe.h - byte pair encoding: a piece of text, bytes or characters, whose neighbours are joined,
 * the best pair first and of equal ones the leftmost, until none is left to join.
 *
 *   SL_MODEL_MERGES  pairs of tokens from a list, the best first
 *   SL_MODEL_RANKS   neighbours that together spell a token, the lowest id first
 *   SL_MODEL_SCORES  the same, the highest score first
 */
#ifndef SL_TOKENIZER_BPE_H
#define SL_TOKENIZER_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "tokenizer/lexicon.h"
#include "tokenizer/piece_cache.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/trie.h"

#define SL_NO_RANK UINT32_MAX

typedef struct sl_merge {
    int32_t left, right, joined; /* ids */
    uint32_t rank;               /* SL_NO_RANK: a free slot */
} sl_merge;

/* 16 to 32 bytes for a merge, 4 for a score. */
typedef struct sl_bpe {
    const sl_lexicon *lexicon;
    sl_vocab_model model;
    bool chars;         /* symbols are characters, else bytes */
    bool whole_pieces;  /* a piece that is a token stays one */
    bool byte_fallback; /* see vocab.h */
    bool fuse_unk;
    bool resegments; /* SCORES: an unused token may be joined, and is taken apart again */
    int32_t unk;
    int32_t byte_id[256]; /* -1: no token for this byte */
    sl_merge *slot;       /* MERGES: [mask + 1] hash table by (left, right) */
    size_t mask;
    uint32_t *order;  /* SCORES: [n tokens] the higher the score, the lower */
    sl_trie user;     /* SCORES: tokens that stay whole ... */
    int32_t *user_id; /* ... and their ids, by the trie's values */
    uint64_t *seams;  /* a bit for each pair of neighbours inside tokens; NULL: pieces are not cut */
    unsigned seam_bits;
} sl_bpe;

/* Keeps x. SL_ENOMEM; SL_EFORMAT: a merge of unknown parts, a score that is no number, no token
 * for any single byte. *b is empty after a failure. */
sl_status sl_bpe_init(sl_bpe *b, const sl_lexicon *x, const sl_vocab *v, sl_err *err);
void sl_bpe_fini(sl_bpe *b);

typedef struct sl_bpe_split {
    uint32_t start, left_len; /* bytes of the text at hand; left_len 0: not set */
} sl_bpe_split;

/* What one caller needs while it encodes. Zero it, hand it to any number of calls, then _fini. */
typedef struct sl_bpe_work {
    bool pending;  /* MERGES: an unknown character whose token is not written yet */
    bool prev_unk; /* SCORES: the last token written was an unknown one */
    void *block;   /* for long pieces */
    size_t block_bytes;
    sl_bpe_split *split;  /* SCORES: [n tokens] how an unused token was last put together */
    sl_piece_cache cache; /* of the parts of long pieces */
} sl_bpe_work;
void sl_bpe_work_fini(sl_bpe_work *w);

/* Append the ids of a piece. n log n in its length. Without a break inside, that is where two
 * neighbours are side by side in no token, it takes up to 40 bytes of memory for each byte.
 * SL_ENOMEM; SL_EINVAL: 2 GiB or more. */
sl_status sl_bpe_encode(const sl_bpe *b, sl_bpe_work *w, const char *piece, size_t len, sl_ids *ids, sl_err *err);

/* Append the id of a byte that is no UTF-8: its own token, else the unknown one, else none. */
sl_status sl_bpe_encode_byte(const sl_bpe *b, unsigned char byte, sl_ids *ids, sl_err *err);

#endif
