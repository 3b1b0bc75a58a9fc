/* normalize_in.h - the steps that have a file of their own. Each appends to `out`. */
#ifndef SL_TOKENIZER_NORMALIZE_IN_H
#define SL_TOKENIZER_NORMALIZE_IN_H

#include "tokenizer/charsmap.h"
#include "tokenizer/normalize.h"
#include "tokenizer/trie.h"

/* Unicode's normal forms. */
sl_status sl_norm_form(sl_norm_kind form, sl_norm_work *w, sl_bytes in, sl_str *out, sl_err *err);

/* As `tokenizers` applies a precompiled table: to each grapheme of less than six bytes, else to
 * each character; of the starts that the table has the shortest. */
void sl_norm_charsmap(const sl_charsmap *m, sl_bytes in, sl_str *out);

/* SentencePiece's own normaliser. */
void sl_norm_sentencepiece(const sl_norm_step *s, const sl_charsmap *m, const sl_trie *user, sl_bytes in, bool inside,
                           sl_str *out);

#endif
