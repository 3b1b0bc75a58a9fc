/* impl.h - what a tokenizer is made of; for this folder only. */
#ifndef SL_TOKENIZER_IMPL_H
#define SL_TOKENIZER_IMPL_H

#include "tokenizer/bpe.h"
#include "tokenizer/lexicon.h"
#include "tokenizer/pretok.h"
#include "tokenizer/specials.h"
#include "tokenizer/tokenizer.h"

#define SL_TOKENIZER_MAX_ENDS 16

struct sl_tokenizer {
    sl_lexicon lexicon;
    sl_specials specials;
    sl_bpe bpe;
    sl_pretok *pretok;
    int32_t bos, eos;
    int32_t *around; /* [n_prefix + n_suffix] ids put before and behind a text */
    size_t n_prefix, n_suffix;
    int32_t ends[SL_TOKENIZER_MAX_ENDS]; /* ids that end an answer */
    size_t n_ends;
};

#endif
