/* unigram.h - the cut of a text into tokens with the highest sum of scores (Viterbi).
 * Sources: Kudo 2018, arXiv 1804.10959; sentencepiece unigram_model.cc and `tokenizers`
 * models/unigram, whose rules for what is unknown, for equal sums and for rounding are kept. */
#ifndef SL_TOKENIZER_UNIGRAM_H
#define SL_TOKENIZER_UNIGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "tokenizer/lexicon.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/trie.h"

typedef struct sl_unigram {
    const sl_lexicon *lexicon;
    sl_trie trie;   /* values are ids */
    double *score;  /* [n tokens] */
    double unknown; /* what an unknown character costs */
    bool as_double, byte_fallback, fuse_unk;
    int32_t unk;
    int32_t byte_id[256]; /* -1: none */
} sl_unigram;

/* Keeps x. SL_ENOMEM; SL_EFORMAT: no scores, or one that is no number. *u is empty after a failure. */
sl_status sl_unigram_init(sl_unigram *u, const sl_lexicon *x, const sl_vocab *v, sl_err *err);
void sl_unigram_fini(sl_unigram *u);

/* Zero it, hand it to any number of calls, then _fini. */
typedef struct sl_unigram_work {
    void *nodes;
    size_t n_nodes;
} sl_unigram_work;
void sl_unigram_work_fini(sl_unigram_work *w);

/* Append the ids of whole UTF-8. Linear; 16 bytes of memory for each byte between places that the
 * best path cannot avoid. SL_ENOMEM; SL_EINVAL: 2 GiB or more. */
sl_status sl_unigram_encode(const sl_unigram *u, sl_unigram_work *w, const char *text, size_t len, sl_ids *ids,
                            sl_err *err);
/* As sl_bpe_encode_byte. */
sl_status sl_unigram_encode_byte(const sl_unigram *u, unsigned char byte, sl_ids *ids, sl_err *err);

#endif
