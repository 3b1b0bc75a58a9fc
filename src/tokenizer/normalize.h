/* normalize.h - what is done to a text before anything else: the steps of sl_vocab.norms. */
#ifndef SL_TOKENIZER_NORMALIZE_H
#define SL_TOKENIZER_NORMALIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "base/str.h"
#include "tokenizer/lexicon.h"
#include "tokenizer/regex.h"
#include "tokenizer/vocab.h"

typedef struct sl_norm sl_norm;

/* Copies the steps. The tokens of kind USER in x stay as they are, to a SENTENCEPIECE step. With no
 * step *out is NULL, which the calls below take. SL_ENOMEM; SL_EFORMAT: a broken table or text;
 * SL_EUNSUPPORTED: a pattern. */
sl_status sl_norm_create(sl_norm **out, const sl_vocab *v, const sl_lexicon *x, sl_err *err);
void sl_norm_destroy(sl_norm *n); /* accepts NULL */

/* What one caller needs while it normalises. Zero it, hand it to any number of calls, then _fini. */
typedef struct sl_norm_work {
    sl_str text[2];
    int32_t *points; /* code points of a stretch */
    size_t n_points;
    sl_regex_work regex;
} sl_norm_work;
void sl_norm_work_fini(sl_norm_work *w);

/* The normalised form of whole UTF-8, whole UTF-8 too: `text` itself where nothing changes, else
 * in w until the next call. `inside`: something stands before the text, so nothing is put in
 * front or taken away there. SL_ENOMEM. */
sl_status sl_norm_apply(const sl_norm *n, sl_norm_work *w, sl_bytes text, bool inside, sl_bytes *out, sl_err *err);

#endif
