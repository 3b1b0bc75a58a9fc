/* lexicon.h - all tokens of a vocabulary, compactly: the bytes each stands for, and the way
 * back from text to id. About 20 bytes for a token besides its text.
 *
 * Vocabularies of the GPT-2 kind store bytes as visible characters (the "byte alphabet":
 * 0x20 is U+0120, 0x41 stays 'A'). Here tokens are kept as the bytes they mean; tokens that
 * are matched in the text as they stand (control tokens, words added by a user) are *verbatim*.
 */
#ifndef SL_TOKENIZER_LEXICON_H
#define SL_TOKENIZER_LEXICON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "tokenizer/vocab.h"

typedef struct sl_lexicon {
    size_t n;
    char *text;       /* all tokens, one after another */
    uint32_t *offset; /* [n + 1] into text */
    uint8_t *kind;    /* [n] sl_token_kind, with SL_LEXICON_VERBATIM */
    uint32_t *slot;   /* [mask + 1] hash table of id + 1, 0: free */
    size_t mask;
} sl_lexicon;

#define SL_LEXICON_VERBATIM 0x80u

/* SL_ENOMEM; SL_EFORMAT: more than 2^31 tokens or 4 GiB of text. *x is empty after a failure. */
sl_status sl_lexicon_init(sl_lexicon *x, const sl_vocab *v, sl_err *err);
void sl_lexicon_fini(sl_lexicon *x);

static inline sl_bytes sl_lexicon_bytes(const sl_lexicon *x, size_t id)
{
    return (sl_bytes){ x->text + x->offset[id], x->offset[id + 1] - x->offset[id] };
}
static inline sl_token_kind sl_lexicon_kind(const sl_lexicon *x, size_t id)
{
    return (sl_token_kind)(x->kind[id] & ~SL_LEXICON_VERBATIM);
}

/* The lowest id whose stored text (in the byte alphabet, or verbatim) is this; -1: none. */
int32_t sl_lexicon_find(const sl_lexicon *x, const char *stored, size_t len);
/* The lowest id of a token, not a verbatim one, that stands for these bytes; -1: none. */
int32_t sl_lexicon_find_bytes(const sl_lexicon *x, const char *bytes, size_t len);
/* The same for one byte. */
int32_t sl_lexicon_find_byte(const sl_lexicon *x, unsigned char byte);

#endif
