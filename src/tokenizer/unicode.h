/* unicode.h - properties of characters by name, and what is one when case is ignored. Unicode 16,
 * as the regex engine of the `tokenizers` library (Oniguruma) has it. */
#ifndef SL_TOKENIZER_UNICODE_H
#define SL_TOKENIZER_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tokenizer/charset.h"

/* Add the characters of a property to s (not settled). Case, spaces, '-' and '_' in the name are
 * ignored. Known are general categories (L, Lu, Letter, ...), scripts by both of their names (by
 * Script, never Script_Extensions), Alphabetic, Uppercase, Lowercase, White_Space, Any, Assigned,
 * ASCII, the POSIX names (alpha, word, ...), and three sets by which steps of the library go that
 * ask no regex engine: rust_numeric (Digits), rust_punctuation (Punctuation, BertPreTokenizer),
 * rust_word (the \w of Whitespace). False: no such name, nothing was added. */
bool sl_unicode_property(sl_charset *s, const char *name, size_t len);
/* Likewise for the names inside [: :]. */
bool sl_unicode_posix(sl_charset *s, const char *name, size_t len);

/* Add what is the same as a character of s when case is ignored, one for one. Settled before and after. */
void sl_unicode_fold(sl_charset *s);
/* The smallest character that is the same as c when case is ignored. */
uint32_t sl_unicode_folded(uint32_t c);

#endif
