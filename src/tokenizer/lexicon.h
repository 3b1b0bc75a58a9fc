/* lexicon.h - all tokens of a vocabulary, compactly: the bytes each stands for, and the way
 * back from text to id. About 25 bytes for a token besides its text.
 *
 * Vocabularies of the GPT-2 kind store bytes as visible characters (the "byte alphabet":
 * 0x20 is U+0120, 0x41 stays 'A'). Here tokens are kept as the bytes they mean. Tokens that no
 * model makes from text (control tokens, words added by a user) are *verbatim*: they are kept
 * as they are written, and looked up apart from the others.
 */
#ifndef SL_TOKENIZER_LEXICON_H
#define SL_TOKENIZER_LEXICON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/status.h"
#include "tokenizer/vocab.h"

typedef struct sl_lexicon_slot {
    uint32_t hash;
    uint32_t id1; /* id + 1; 0: free */
} sl_lexicon_slot;

typedef struct sl_lexicon {
    size_t n;
    size_t longest;        /* bytes of the longest token that is not verbatim */
    sl_token_text how;     /* tokens are stored in the vocabulary */
    char *text;            /* all tokens, one after another */
    uint32_t *offset;      /* [n + 1] into text */
    uint8_t *kind;         /* [n] sl_token_kind, with the bits below */
    sl_lexicon_slot *slot; /* [mask + 1] */
    size_t mask;
} sl_lexicon;

#define SL_LEXICON_VERBATIM 0x80u
#define SL_LEXICON_HIDDEN   0x40u /* not shown unless asked for */
#define SL_LEXICON_END      0x20u /* ends an answer */
#define SL_LEXICON_KIND     0x0fu

/* SL_ENOMEM; SL_EFORMAT: more than 2^31 tokens or 4 GiB of text. *x is empty after a failure. */
sl_status sl_lexicon_init(sl_lexicon *x, const sl_vocab *v, sl_err *err);
void sl_lexicon_fini(sl_lexicon *x);

static inline sl_bytes sl_lexicon_bytes(const sl_lexicon *x, size_t id)
{
    return (sl_bytes){ x->text + x->offset[id], x->offset[id + 1] - x->offset[id] };
}
static inline sl_token_kind sl_lexicon_kind(const sl_lexicon *x, size_t id)
{
    return (sl_token_kind)(x->kind[id] & SL_LEXICON_KIND);
}

/* The lowest id whose stored text (in the byte alphabet, or verbatim) is this; -1: none. */
int32_t sl_lexicon_find(const sl_lexicon *x, const char *stored, size_t len);
/* The lowest id of a token, not a verbatim one, that stands for these bytes; -1: none. */
int32_t sl_lexicon_find_bytes(const sl_lexicon *x, const char *bytes, size_t len);

/* The bytes that a text in the byte alphabet means, into out[len]; their number, or SIZE_MAX:
 * a character from outside the alphabet. */
size_t sl_alphabet_bytes(const char *stored, size_t len, char *out);

/* A hash of bytes for tables in memory. */
static inline uint64_t sl_text_hash(const char *s, size_t n)
{
    uint64_t h = n * 0x9e3779b97f4a7c15u, word = 0;
    for (; n >= 8; s += 8, n -= 8) {
        memcpy(&word, s, 8);
        h = (h ^ word) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    }
    word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)(unsigned char)s[i] << 8 * i;
    h = (h ^ word) * 0xd6e8feb86659fd93u;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

#endif
