/* charset.h - sets of characters: sorted, disjoint ranges of code points, and their algebra.
 * Once an operation fails for want of memory `failed` stays set: check once, at the end. */
#ifndef SL_TOKENIZER_CHARSET_H
#define SL_TOKENIZER_CHARSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tokenizer/unicode_tab.h"

typedef struct sl_charset {
    sl_unicode_range *range;
    size_t n, cap;
    bool failed;
    bool loose; /* ranges were added: not sorted until sl_charset_settle */
} sl_charset;

void sl_charset_fini(sl_charset *s);
void sl_charset_clear(sl_charset *s);
void sl_charset_add(sl_charset *s, uint32_t first, uint32_t last); /* both included */
void sl_charset_add_set(sl_charset *s, const sl_charset *other);

/* Sort and join the ranges. What follows wants settled sets, and leaves them so. */
void sl_charset_settle(sl_charset *s);
void sl_charset_negate(sl_charset *s); /* against all of Unicode, surrogates too */
void sl_charset_intersect(sl_charset *s, const sl_charset *other);
bool sl_charset_has(const sl_charset *s, uint32_t c);
bool sl_charset_equal(const sl_charset *a, const sl_charset *b);
bool sl_charset_covers(const sl_charset *a, const sl_charset *b); /* all of b is in a */

#endif
