/* impl.h - what a tokenizer is made of; for this folder only. */
#ifndef SL_TOKENIZER_IMPL_H
#define SL_TOKENIZER_IMPL_H

#include "tokenizer/added.h"
#include "tokenizer/bpe.h"
#include "tokenizer/decode.h"
#include "tokenizer/lexicon.h"
#include "tokenizer/normalize.h"
#include "tokenizer/pretok.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unigram.h"

struct sl_tokenizer {
    sl_lexicon lexicon;
    sl_added raw;        /* matched in the text as it came */
    sl_added normalized; /* matched in the normalised text, normalised as well */
    sl_added written;    /* all of them, as they are written */
    sl_added control;    /* the special ones, as they are written */
    sl_norm *norm;       /* NULL: none */
    sl_pretok *pretok;   /* NULL: a text is one piece */
    sl_vocab_model model;
    sl_bpe bpe; /* MERGES, RANKS, SCORES */
    sl_unigram unigram;
    sl_decoder decoder;
    int32_t bos, eos, unk, pad;
    int32_t *around; /* [n_prefix + n_suffix] ids put before and behind a text */
    size_t n_prefix, n_suffix;
    size_t max_chars, max_run; /* 0: a text is not cut */
};

#endif
