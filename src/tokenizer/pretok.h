/* pretok.h - cutting text into the pieces inside which BPE may merge.
 *
 * A pre-tokenizer is one to four patterns. Each cuts what the one before left: its matches
 * become pieces, and so does the text between them.
 *
 * Patterns run over *class bytes*, one for each character: ASCII stands for itself, and any
 * other character is a byte above 0x7f whose low bits say in which of the pattern's classes
 * (\p{L}, \s, …) it lies. So the classes come from our table of Unicode 16 and from no regex
 * library, text in any script runs at the speed of English, and plain ASCII needs no copy.
 */
#ifndef SL_TOKENIZER_PRETOK_H
#define SL_TOKENIZER_PRETOK_H

#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

typedef struct sl_pretok sl_pretok;

/* By the name that model files use. SL_EUNSUPPORTED for an unknown one or NULL: the text lists
 * what is known. SL_ENOMEM. */
sl_status sl_pretok_create(sl_pretok **out, const char *name, sl_err *err);
void sl_pretok_destroy(sl_pretok *p); /* accepts NULL */

/* Whether a piece that is a token as a whole stays one, whatever the merges say. */
bool sl_pretok_whole_pieces(const sl_pretok *p);

/* What one caller needs while it cuts: never shared between threads. Zero it, hand it to any
 * number of splits, then _fini. */
typedef struct sl_pretok_work {
    void *general, *match, *limits, *stack; /* pcre2's objects */
    char *folded;                           /* class bytes of the text at hand */
    size_t folded_bytes;
} sl_pretok_work;
void sl_pretok_work_fini(sl_pretok_work *w);

typedef sl_status sl_piece_fn(void *arg, const char *piece, size_t len, sl_err *err);

/* Call fn for each piece of `text` (whole UTF-8 of n_chars characters), in order; together they
 * are the text. A status other than SL_OK from fn ends it. SL_ENOMEM. */
sl_status sl_pretok_split(const sl_pretok *p, sl_pretok_work *w, const char *text, size_t len, size_t n_chars,
                          sl_piece_fn *fn, void *arg, sl_err *err);

#endif
