/* seam.h - places in a text over which nothing can be joined: neighbours that stand side by
 * side in no token. Vocabularies whose spaces are letters (SentencePiece) have no pre-tokenizer
 * that cuts at words; this cuts there all the same, without a change of the result. */
#ifndef SL_TOKENIZER_SEAM_H
#define SL_TOKENIZER_SEAM_H

#include <stddef.h>
#include "base/status.h"
#include "tokenizer/bpe.h"

/* Fills b->seams. SL_ENOMEM. */
sl_status sl_seam_init(sl_bpe *b, sl_err *err);
/* The length of the text's first part: up to the first seam, or all of it. */
size_t sl_seam_next(const sl_bpe *b, const char *text, size_t len);

#endif
