/* tokenizer.h - text to token ids and back, exactly as the libraries do it that models are
 * made with: `tokenizers`, sentencepiece, tiktoken. What each step is, is in vocab.h.
 *
 *   text -> added tokens cut out -> normalizer -> pre-tokenizer -> model -> ids
 *   ids  -> decoder -> text
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

/* Copies what it needs: `v` and its strings may go afterwards. SL_EFORMAT: a merge of unknown
 * parts, an id outside the vocabulary, a score that is no number, a broken table, no token for any
 * single byte where the model works on bytes; SL_EUNSUPPORTED: an unknown pre-tokenizer name (the
 * text lists the known ones), a pattern or an order of decoder steps that is not known. */
sl_status sl_tokenizer_create(sl_tokenizer **out, const sl_vocab *v, sl_err *err);
void sl_tokenizer_destroy(sl_tokenizer *t); /* accepts NULL */

size_t sl_tokenizer_size(const sl_tokenizer *t); /* number of ids */
int32_t sl_tokenizer_bos(const sl_tokenizer *t); /* -1: none; likewise below */
int32_t sl_tokenizer_eos(const sl_tokenizer *t);
int32_t sl_tokenizer_unk(const sl_tokenizer *t);
int32_t sl_tokenizer_pad(const sl_tokenizer *t);
/* The first of the ids that SL_TOK_ADD_SPECIAL puts in front of a text. */
int32_t sl_tokenizer_first(const sl_tokenizer *t);
/* True for every id that ends an answer: eos, eot, sl_vocab.ends and their like. */
bool sl_tokenizer_ends(const sl_tokenizer *t, int32_t id);
/* The id whose stored text is exactly `text`, specials included; -1: none. */
int32_t sl_tokenizer_find(const sl_tokenizer *t, const char *text, size_t len);

enum {
    SL_TOK_ADD_SPECIAL = 1,   /* BOS and EOS as the vocabulary asks */
    SL_TOK_PARSE_SPECIAL = 2, /* control tokens in the text are recognised; else they are plain text */
};
/* Append the ids of UTF-8 text (NUL bytes allowed). Bytes that are not UTF-8 are never refused:
 * each stands alone, between stretches of text that are treated each for itself, and becomes its own
 * byte's token ("<0xFF>" where the model works on characters), else the unknown token. A character
 * or byte that nothing stands for is left out, as in the reference: the SmolLM2 vocabulary has 21
 * such. Added tokens that are not special are always recognised.
 * After a failure the ids in *ids are those of before. SL_ENOMEM; SL_EINVAL: 2 GiB or more
 * without a break. Time is n log n in the worst case. */
sl_status sl_tokenize(const sl_tokenizer *t, const char *text, size_t len, unsigned flags, sl_ids *ids, sl_err *err);
/* The same for a text of which only parts may hold control tokens: apart[n_apart], ascending, are
 * places in the text (0 < place < len) over which none is recognised. */
sl_status sl_tokenize_apart(const sl_tokenizer *t, const char *text, size_t len, const size_t *apart, size_t n_apart,
                            unsigned flags, sl_ids *ids, sl_err *err);

/* For prompts, of which only parts may hold control tokens. The first special token at or after
 * `from` (the longest of those that begin there), its id in *id; none: len, and *id is -1. */
size_t sl_tokenizer_next_special(const sl_tokenizer *t, const char *text, size_t len, size_t from, int32_t *id);
/* The first place at or after `from` where a control token stands, or would stand if the right
 * text followed; none: len. Added tokens that look like control tokens count as such here, in letters
 * of any case. */
size_t sl_tokenizer_next_control(const sl_tokenizer *t, const char *text, size_t len, size_t from);

/* What an id says in the middle of a text; control tokens only when `special` is set, else nothing.
 * Borrowed from t. An id out of range, or without a name, gives no bytes. */
sl_bytes sl_token_bytes(const sl_tokenizer *t, int32_t id, bool special);
/* The text that stands for an added token, as it is written in a prompt; other ids give what the
 * model makes them from. Borrowed from t. */
sl_bytes sl_token_written(const sl_tokenizer *t, int32_t id);

/* Ids to text piece by piece, never half a character: bytes that may still become whole are
 * kept back. Bytes that are not UTF-8 come out as U+FFFD, one for each maximal bad part (WHATWG),
 * or one for each byte where bytes are tokens of their own ("<0xFF>").
 * No heap call once `out` has grown to the longest piece, but for the first id of a text. */
typedef struct sl_detok {
    const sl_tokenizer *tokenizer;
    bool special; /* show control tokens */
    bool begun;   /* an id was given: the next is not the first of its text */
    unsigned char held[4];
    unsigned n_held;
    unsigned n_old;     /* of those, bytes that came before the text that is asked for */
    size_t n_strip;     /* characters that may still be taken away at the beginning ... */
    size_t n_strip_now; /* ... of the id at hand */
} sl_detok;
void sl_detok_init(sl_detok *d, const sl_tokenizer *t, bool special);
/* Start behind `ids`, the end of a text that is not given out again: a prompt. If it ends in half
 * a character, that joins the first new id; if it never becomes whole, only new bytes show. */
void sl_detok_init_after(sl_detok *d, const sl_tokenizer *t, bool special, const int32_t *ids, size_t n);
void sl_detok_next(sl_detok *d, int32_t id, sl_str *out); /* appends */
void sl_detok_flush(sl_detok *d, sl_str *out);            /* the end: held bytes come out as U+FFFD */

#endif
