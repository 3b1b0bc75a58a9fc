/* pretok.h - cutting text into the pieces inside which a model may merge.
 *
 * A pre-tokenizer is a list of steps. Each sees the pieces that the one before left, as if each
 * were the whole text: a split cuts it, other steps change its characters. Pieces lie in the text
 * as long as no step changes any, so plain text is cut without a copy.
 */
#ifndef SL_TOKENIZER_PRETOK_H
#define SL_TOKENIZER_PRETOK_H

#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"
#include "tokenizer/regex.h"
#include "tokenizer/vocab.h"

enum { SL_PRETOK_MAX_STEPS = 32, SL_PRETOK_MAX_CHANGES = 4 };

/* --- names ------------------------------------------------------------------------------- */

/* What a name in a GGUF file (tokenizer.ggml.pre) stands for. The steps are those of the models'
 * own tokenizer.json. */
typedef struct sl_pretok_known {
    const char *names;           /* separated by spaces */
    const sl_pretok_step *steps; /* [n_steps] */
    size_t n_steps;
    bool whole_pieces; /* a piece that is a token stays one, whatever the merges say */
    bool adds_bos;     /* a begin token in front, where the file says nothing about it */
    bool composes;     /* NFC before all else: the models' own tokenizer.json says so, GGUF files do not repeat it */
} sl_pretok_known;

/* NULL: not known. */
const sl_pretok_known *sl_pretok_find(const char *name);
sl_status sl_pretok_unknown(const char *name, sl_err *err); /* SL_EUNSUPPORTED; the text lists what is known */

/* --- life -------------------------------------------------------------------------------- */

typedef struct sl_pretok sl_pretok;

/* By v->pre, else v->pretoks, which are copied. No steps: a text is one piece. SL_EUNSUPPORTED:
 * an unknown name, more than SL_PRETOK_MAX_STEPS steps or SL_PRETOK_MAX_CHANGES that change
 * characters, a step that changes characters or a second BYTE_LEVEL behind BYTE_LEVEL, a pattern
 * that regex.h refuses; SL_EFORMAT: chunks of no characters, no UTF-8; SL_ENOMEM. */
sl_status sl_pretok_create(sl_pretok **out, const sl_vocab *v, sl_err *err);
void sl_pretok_destroy(sl_pretok *p); /* accepts NULL */

/* Whether a piece that is a token as a whole stays one, by name or as v->whole_pieces says. */
bool sl_pretok_whole_pieces(const sl_pretok *p);

/* --- cutting ----------------------------------------------------------------------------- */

/* What one caller needs while it cuts: never shared between threads. Zero it, hand it to any
 * number of splits, then _fini. It has one byte for each character of the longest text, and the
 * changed text where steps change it. */
typedef struct sl_pretok_work {
    sl_regex_work regex;
    struct sl_pretok_buffer {
        char *data;
        size_t bytes;
    } classes[SL_PRETOK_MAX_CHANGES + 1], text[SL_PRETOK_MAX_CHANGES + 1];
} sl_pretok_work;
void sl_pretok_work_fini(sl_pretok_work *w);

typedef sl_status sl_piece_fn(void *arg, const char *piece, size_t len, sl_err *err);

/* Call fn for each piece of `text` (whole UTF-8 of n_chars characters), in order; no piece is
 * empty. A piece is valid until fn returns. `first`: nothing was before the text (SL_PREPEND_FIRST).
 * A status other than SL_OK from fn ends it. SL_ENOMEM; SL_EUNSUPPORTED: a pattern needs too many
 * steps on this text. */
sl_status sl_pretok_split(const sl_pretok *p, sl_pretok_work *w, const char *text, size_t len, size_t n_chars,
                          bool first, sl_piece_fn *fn, void *arg, sl_err *err);

#endif
