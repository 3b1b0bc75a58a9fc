/* unicode_tab.h - character classes of Unicode 16 as sorted ranges: what the patterns of the
 * pre-tokenizers mean by \p{L} and the like, whatever the Unicode version of the regex library. */
#ifndef SL_TOKENIZER_UNICODE_TAB_H
#define SL_TOKENIZER_UNICODE_TAB_H

#include <stddef.h>
#include <stdint.h>

#define SL_UNICODE_END 0x110000u /* one past the last code point */

typedef struct sl_unicode_range {
    uint32_t first, last; /* both included */
} sl_unicode_range;

typedef struct sl_unicode_set {
    const char *name; /* as in \p{name}; "s" is \s; "numeric": N of a newer Unicode, see the generator */
    const sl_unicode_range *ranges;
    size_t n_ranges;
} sl_unicode_set;

extern const sl_unicode_set sl_unicode_sets[];
extern const size_t sl_unicode_n_sets;

#endif
