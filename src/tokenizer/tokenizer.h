/* tokenizer.h - text to token ids and back, exactly as the `tokenizers` library does it.
 *
 *   text -> special tokens cut out -> pre-tokenizer (pcre2) -> byte alphabet -> BPE merges -> ids
 *
 * A tokenizer is read-only after it was made: any number of threads may use one.
 */
#ifndef SL_TOKENIZER_TOKENIZER_H
#define SL_TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "base/str.h"
#include "tokenizer/vocab.h"

typedef struct sl_tokenizer sl_tokenizer;

/* Copies what it needs: `v` and its strings may go afterwards. SL_EFORMAT: a merge without a
 * space or of unknown parts, a special id outside the vocabulary, a BOS or EOS to add that is
 * not named, no token for any single byte; SL_EUNSUPPORTED: an unknown pre-tokenizer name (the
 * text lists the known ones). */
sl_status sl_tokenizer_create(sl_tokenizer **out, const sl_vocab *v, sl_err *err);
void sl_tokenizer_destroy(sl_tokenizer *t); /* accepts NULL */

size_t sl_tokenizer_size(const sl_tokenizer *t); /* number of ids */
int32_t sl_tokenizer_bos(const sl_tokenizer *t); /* -1: none; likewise below */
int32_t sl_tokenizer_eos(const sl_tokenizer *t);
/* True for every id that ends an answer: eos, eot and their like. */
bool sl_tokenizer_ends(const sl_tokenizer *t, int32_t id);
/* The id whose stored text is exactly `text`, specials included; -1: none. */
int32_t sl_tokenizer_find(const sl_tokenizer *t, const char *text, size_t len);

typedef struct sl_ids {
    int32_t *data;
    size_t n, cap;
} sl_ids;
void sl_ids_fini(sl_ids *ids);
sl_status sl_ids_push(sl_ids *ids, int32_t id, sl_err *err); /* append; SL_ENOMEM */

enum {
    SL_TOK_ADD_SPECIAL = 1,   /* BOS and EOS as the vocabulary asks */
    SL_TOK_PARSE_SPECIAL = 2, /* control tokens in the text are recognised; else they are plain text */
};
/* Append the ids of UTF-8 text (NUL bytes allowed; bytes that are not UTF-8 are taken byte by
 * byte, never refused; a byte that no token stands for is left out, as in the reference: the
 * SmolLM2 vocabulary has 21 such). Tokens added by a user (SL_TOKEN_USER) are always recognised.
 * After a failure the ids in *ids are those of before. SL_ENOMEM; SL_EINVAL: 2 GiB or more
 * without a break. Time is n log n in the worst case. */
sl_status sl_tokenize(const sl_tokenizer *t, const char *text, size_t len, unsigned flags, sl_ids *ids, sl_err *err);

/* For prompts, of which only parts may hold control tokens. The first special token at or after
 * `from` (the longest of those that begin there), its id in *id; none: len, and *id is -1. */
size_t sl_tokenizer_next_special(const sl_tokenizer *t, const char *text, size_t len, size_t from, int32_t *id);
/* The first place at or after `from` where a control token stands, or would stand if the right
 * text followed; none: len. */
size_t sl_tokenizer_next_control(const sl_tokenizer *t, const char *text, size_t len, size_t from);

/* The bytes of one id; control tokens give their text only when `special` is set, else nothing.
 * Borrowed from t. An id out of range gives no bytes. */
sl_bytes sl_token_bytes(const sl_tokenizer *t, int32_t id, bool special);

/* Ids to text piece by piece, never half a character: bytes that may still become whole are
 * kept back, invalid ones come out as one U+FFFD for each maximal bad part (WHATWG).
 * No heap call once `out` has grown to the longest piece. */
typedef struct sl_detok {
    const sl_tokenizer *tokenizer;
    bool special; /* show control tokens */
    unsigned char held[4];
    unsigned n_held;
} sl_detok;
void sl_detok_init(sl_detok *d, const sl_tokenizer *t, bool special);
void sl_detok_next(sl_detok *d, int32_t id, sl_str *out); /* appends */
void sl_detok_flush(sl_detok *d, sl_str *out);            /* the end: held bytes come out as U+FFFD */

#endif
