/* regex.h - the patterns of tokenizers, executed as they are written.
 *
 * A pattern is read by us, not by the regex library: the ranges of all its character sets are
 * known, and split Unicode into classes of characters that no pattern tells apart. ASCII stands
 * for itself, each class of other characters is a byte above 0x7f, and pcre2 (its plain 8-bit mode
 * with machine code) runs over these *class bytes*. So what \p{L} or \s mean comes from our table
 * of Unicode 16, set operations and case folding are exact, text in any script runs at the speed
 * of English, and plain ASCII needs no copy.
 *
 * Known: literals and their escapes, classes with ranges, nesting and &&, \p{..} (unicode.h says
 * which), \d \s \w \h, POSIX brackets, groups (capturing ones too: nothing is captured), (?i) and
 * (?m)/(?s), atomic groups, look-ahead, look-behind of fixed length, anchors and \b, quantifiers of
 * all three kinds. All else is refused with SL_EUNSUPPORTED, the construct and its column named.
 */
#ifndef SL_TOKENIZER_REGEX_H
#define SL_TOKENIZER_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "tokenizer/vocab.h"

typedef struct sl_regex_pattern {
    sl_bytes text; /* UTF-8 */
    bool literal;  /* a string to be found, not a pattern */
    bool rust;     /* as Rust's fancy-regex (tiktoken) reads it; else as Oniguruma (the `tokenizers` library) */
} sl_regex_pattern;

typedef struct sl_regex sl_regex; /* read-only after it was made: any number of threads may use one */

/* Compile n patterns over one set of classes. Errors begin with the pattern's number, if there are
 * several, and the column in characters, from 1. SL_EFORMAT: no UTF-8, or not well-formed;
 * SL_EUNSUPPORTED; SL_ENOMEM. */
sl_status sl_regex_create(sl_regex **out, const sl_regex_pattern *patterns, size_t n, sl_err *err);
void sl_regex_destroy(sl_regex *r); /* accepts NULL */

/* What one caller needs while it matches: never shared between threads. Zero it, use it with any
 * number of regexes and texts, then _fini. */
typedef struct sl_regex_work {
    void *general, *match, *limits, *stack; /* pcre2's objects */
    char *classes;                          /* class bytes of the text at hand, for sl_regex_scan_begin */
    size_t classes_bytes;
    uint64_t steps; /* that are left for this text */
} sl_regex_work;
void sl_regex_work_fini(sl_regex_work *w);

/* --- all matches in a text ---------------------------------------------------------------- */

/* The matches of one pattern, in order and without overlap, as Regex::find_iter of the reference
 * gives them: an empty match right behind the last one is no match. */
typedef struct sl_regex_scan {
    const sl_regex *regex;
    sl_regex_work *work;
    size_t number;
    const char *text;
    size_t len;
    const char *classes;
    size_t n_chars, at, last_end; /* in characters; last_end: SIZE_MAX before the first match */
    size_t char_at, byte_at;      /* the same place in both measures */
} sl_regex_scan;

/* `text` is whole UTF-8, and stays until the scan ends; so does w, which serves one scan at a time.
 * SL_ENOMEM. */
sl_status sl_regex_scan_begin(sl_regex_scan *s, const sl_regex *r, size_t number, sl_regex_work *w, const char *text,
                              size_t len, sl_err *err);
/* The next match: bytes first..end of the text. *found false: there is none. SL_EUNSUPPORTED: the
 * pattern needs too many steps on this text (never taken for "no match"); SL_ENOMEM. */
sl_status sl_regex_scan_next(sl_regex_scan *s, bool *found, size_t *first, size_t *end, sl_err *err);

/* --- class bytes, for who cuts the same text many times ------------------------------------ */

/* Before the searches in one text (in all its pieces): they may take a number of steps together
 * that grows with n_chars, so that a hostile pattern ends in an error and not never. */
void sl_regex_work_begin(sl_regex_work *w, size_t n_chars);
/* The class bytes of n_chars characters of whole UTF-8, one each. Of ASCII alone the text itself
 * is its class bytes. */
void sl_regex_classes(const sl_regex *r, const char *text, size_t len, char *out);
/* The class byte of one character. */
unsigned char sl_regex_class(const sl_regex *r, uint32_t c);
/* The first match of pattern `number` in n class bytes that begins at `from` or later; what is
 * before counts as context. Status as for sl_regex_scan_next. */
sl_status sl_regex_find(const sl_regex *r, size_t number, sl_regex_work *w, const char *classes, size_t n, size_t from,
                        bool *found, size_t *first, size_t *end, sl_err *err);

#endif
