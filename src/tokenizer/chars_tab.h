/* chars_tab.h - tables behind chars.h, sorted. */
#ifndef SL_TOKENIZER_CHARS_TAB_H
#define SL_TOKENIZER_CHARS_TAB_H

#include <stddef.h>
#include <stdint.h>

typedef struct sl_char_pair {
    uint32_t a, b; /* first and last of a range, or a letter and its lower case */
} sl_char_pair;

extern const sl_char_pair sl_chars_word[], sl_chars_newer[], sl_chars_extend[]; /* ranges */
extern const sl_char_pair sl_chars_lower[]; /* letters that utf8proc maps otherwise */
extern const size_t sl_chars_n_word, sl_chars_n_newer, sl_chars_n_extend, sl_chars_n_lower;

#endif
