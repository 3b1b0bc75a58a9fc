/* added.h - tokens that are matched in a text before the model sees it.
 *
 * Of those that begin at the leftmost place the longest counts, and the search goes on behind it
 * (`tokenizers`, added_vocabulary.rs). One such set holds the tokens that are matched in the text
 * as it came, another those that are matched in the normalised text.
 */
#ifndef SL_TOKENIZER_ADDED_H
#define SL_TOKENIZER_ADDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "tokenizer/trie.h"
#include "tokenizer/vocab.h"

typedef struct sl_added {
    size_t n;
    sl_added_token *token; /* [n] */
    sl_trie trie;          /* values are places in token[] */
    uint64_t pairs[1024];  /* a bit for each two bytes that one may begin with */
} sl_added;

/* The tokens token[which[i]] with the texts text[i]; copies. A token without text never matches.
 * SL_ENOMEM; SL_EFORMAT: 2 GiB of text. *a is empty after a failure. */
sl_status sl_added_init(sl_added *a, const sl_added_token *token, const uint32_t *which, const sl_bytes *text, size_t n,
                        sl_err *err);
void sl_added_fini(sl_added *a);

typedef struct sl_added_match {
    int32_t id;
    size_t start, end; /* with the white space that it takes along */
} sl_added_match;

/* A walk over a text's matches. */
typedef struct sl_added_walk {
    const sl_added *set;
    const char *text;
    size_t len;
    size_t at;           /* the search goes on here */
    size_t taken;        /* the end of the last match */
    bool special;        /* else special tokens stay text, and nothing is matched inside them */
    bool no_control;     /* so do all that look like control tokens */
    const size_t *apart; /* [n_apart] ascending places over which no token is matched ... */
    size_t n_apart;
    size_t base; /* ... counted from so many bytes before the text */
} sl_added_walk;
/* False: no further match. */
bool sl_added_next(sl_added_walk *w, sl_added_match *m);
/* Has it the form of a control token, "<|...", "...|>" or DeepSeek's "<\uff5c...", "...\uff5c>"? Many
 * files do not call special what only templates should write: <\uff5cUser\uff5c>, for one. */
bool sl_added_looks_control(sl_bytes text);
/* Is there one of n ascending places with after < place < before? */
bool sl_places_between(const size_t *place, size_t n, size_t after, size_t before);

static inline char sl_added_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The first place at or after `from` where a token begins, *at its place in token[] and *n its
 * length; none: len, and *at is -1. Flags are not looked at. */
size_t sl_added_find(const sl_added *a, const char *text, size_t len, size_t from, int32_t *at, size_t *n);
/* The first place at or after `from` where a token of a set in small letters stands, or would if
 * the right text followed, in letters of any case; none: len. */
size_t sl_added_find_start(const sl_added *a, const char *text, size_t len, size_t from);

#endif
