/* charsmap.h - SentencePiece's precompiled table of replacements: a Darts double array from a
 * text to a place in a block of strings, each ended by a NUL (normalizer.cc, darts.h). It comes
 * from files and is never trusted: a step that leaves the array finds nothing. */
#ifndef SL_TOKENIZER_CHARSMAP_H
#define SL_TOKENIZER_CHARSMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "tokenizer/vocab.h"

typedef struct sl_charsmap {
    uint32_t *unit; /* [n_units] */
    size_t n_units;
    char *strings; /* [n_strings], the last one a NUL */
    size_t n_strings;
} sl_charsmap;

/* Copies. Of no bytes: an empty table. SL_EFORMAT: cut off, or strings that are no UTF-8; SL_ENOMEM. */
sl_status sl_charsmap_init(sl_charsmap *m, sl_bytes blob, sl_err *err);
void sl_charsmap_fini(sl_charsmap *m);

/* What the shortest, or the longest, start of text[0..n) that the table has becomes; its length in
 * *len. Only whole characters count, on both sides. False: it has none. */
bool sl_charsmap_find(const sl_charsmap *m, bool longest, const char *text, size_t n, size_t *len, sl_bytes *out);

#endif
