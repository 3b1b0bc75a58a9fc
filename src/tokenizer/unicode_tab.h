/* unicode_tab.h - what characters are, as the `tokenizers` library's regex engine (Unicode 16) has
 * it: generated tables. Ask unicode.h, not these. */
#ifndef SL_TOKENIZER_UNICODE_TAB_H
#define SL_TOKENIZER_UNICODE_TAB_H

#include <stddef.h>
#include <stdint.h>

#define SL_UNICODE_END 0x110000u /* one past the last code point */

typedef struct sl_unicode_range {
    uint32_t first, last; /* both included */
} sl_unicode_range;

/* Code point << 8 | number, wherever the number changes, ascending; the first is at 0. */
extern const uint32_t sl_unicode_categories[]; /* numbers of sl_unicode_category_names */
extern const size_t sl_unicode_n_categories;
extern const char sl_unicode_category_names[][3];
extern const size_t sl_unicode_n_category_names;

typedef struct sl_unicode_script_name {
    const char *full, *abbreviation; /* lower case, without spaces and underscores */
} sl_unicode_script_name;
extern const uint32_t sl_unicode_scripts[]; /* numbers of sl_unicode_script_names; one past them: none */
extern const size_t sl_unicode_n_scripts;
extern const sl_unicode_script_name sl_unicode_script_names[];
extern const size_t sl_unicode_n_script_names;

/* alphabetic, lowercase, uppercase: what the property has beyond its general categories. Others
 * are what a step of the `tokenizers` library that asks no regex engine goes by. */
typedef struct sl_unicode_set {
    const char *name;
    const sl_unicode_range *ranges;
    size_t n_ranges;
} sl_unicode_set;
extern const sl_unicode_set sl_unicode_sets[];
extern const size_t sl_unicode_n_sets;

/* Characters that are one when case is ignored form a ring: c = first, first + step, ... last is
 * followed by c + delta. Runs overlap. */
typedef struct sl_unicode_case_run {
    uint32_t first, last;
    int32_t step, delta;
} sl_unicode_case_run;
extern const sl_unicode_case_run sl_unicode_case_runs[];
extern const size_t sl_unicode_n_case_runs;

/* A character and the two or three that it is compared with when case is ignored, zero at the end. */
extern const uint32_t sl_unicode_folds[][4];
extern const size_t sl_unicode_n_folds;

#endif
