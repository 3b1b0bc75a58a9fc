/* fill_in.h - what the readers of tokenizer files share: strings and tokens into an sl_vocab. */
#ifndef SL_FORMATS_FILL_IN_H
#define SL_FORMATS_FILL_IN_H

#include "base/status.h"
#include "tokenizer/vocab.h"

/* A vocabulary being filled. Strings lie one after another in blocks of its arena. */
typedef struct sl_fill {
    sl_vocab *v;
    char *at;
    size_t room;
    sl_err *err;
} sl_fill;

sl_status sl_fill_no_memory(const sl_fill *f);
/* A copy of `in` that the vocabulary owns. SL_ENOMEM. */
sl_status sl_fill_keep(sl_fill *f, sl_bytes in, sl_bytes *out);
/* Room for n bytes that the vocabulary owns. SL_ENOMEM. */
sl_status sl_fill_room(sl_fill *f, size_t n, char **out);
/* Room for n tokens, none of them named yet: UNUSED; with `scores` also that array. */
sl_status sl_fill_tokens(sl_fill *f, size_t n, bool scores);
/* A list of n ids in the arena. */
sl_status sl_fill_ids(sl_fill *f, const int32_t *ids, size_t n, int32_t **out);

/* An id that a file may use when it names n_named tokens in all: a few may be left out, not billions. */
bool sl_fill_id_ok(int64_t id, size_t n_named);

/* Tokens that are CONTROL or USER become added tokens, matched as they stand. */
sl_status sl_fill_add_controls(sl_fill *f);
/* Tokens [from, to) of raw bytes: all named, none twice, and all 256 single bytes among them. */
sl_status sl_fill_check_ranks(const sl_fill *f, size_t from, size_t to);

/* "<0x41>" to 0x41; -1: not of this form, which has upper-case digits. */
int sl_fill_byte(sl_bytes token);
/* Tokens of that form are of kind BYTE. */
void sl_fill_mark_bytes(sl_vocab *v);

/* Base64 with its padding, standard alphabet, into `out` (room for 3 bytes of each 4). False: malformed. */
bool sl_fill_base64(sl_bytes text, char *out, size_t *n);

/* Names to places: open addressing, seeded so that no file can choose its collisions. */
typedef struct sl_names {
    const sl_bytes *names; /* borrowed */
    uint32_t *slots;       /* [mask + 1] place + 1; 0: free */
    size_t mask;
    uint64_t seed;
} sl_names;
/* A name that comes twice is found at its first place, and *twice (may be NULL) becomes its last; else SIZE_MAX.
 * Empty names are left out. */
sl_status sl_names_init(sl_names *x, const sl_bytes *names, size_t n, size_t *twice);
void sl_names_fini(sl_names *x);
size_t sl_names_find(const sl_names *x, sl_bytes name); /* SIZE_MAX: not there */

/* The pattern of GPT-2, which is also what "use_regex" of a byte-level step means. Source: openai/gpt-2, encoder.py. */
#define SL_GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

#endif
