/* decode.h - the decoder of a vocabulary, done for each token when it is loaded: what is left to
 * do id by id is to put bytes one behind the other.
 *
 * What looks at more than one token, and so is left: the first token of a text may differ
 * (METASPACE), characters at its beginning may go (STRIP behind FUSE), and tokens are joined by a
 * space where there is no decoder at all. */
#ifndef SL_TOKENIZER_DECODE_H
#define SL_TOKENIZER_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "base/str.h"
#include "tokenizer/lexicon.h"
#include "tokenizer/vocab.h"

typedef struct sl_decoder {
    const sl_lexicon *lexicon;
    char *text;       /* all tokens as they come out; NULL: as they are in the lexicon */
    uint32_t *offset; /* [n + 1] into text */
    size_t n_steps;
    sl_decode_step *step; /* [n_steps] strings are in the arena */
    sl_arena arena;
    bool join_by_space;
    bool strip_each;    /* one of each token in front, see n_strip */
    bool first_differs; /* the first token of a text is not like later ones */
    bool each_byte;     /* of bytes that are no UTF-8 each one becomes U+FFFD, else each maximal part */
    uint32_t strip;     /* a character of which ... */
    size_t n_strip;     /* ... up to so many at the beginning of a text go */
} sl_decoder;

/* A token that is decoded from another text than its own. */
typedef struct sl_decode_other {
    int32_t id;
    sl_bytes text;
} sl_decode_other;

/* Keeps x. `other`, in any order: what stands for tokens that are matched in normalised text. SL_ENOMEM; SL_EFORMAT: 4
 * GiB of text; SL_EUNSUPPORTED: an order of steps that needs the whole text. *d is empty after a failure. */
sl_status sl_decoder_init(sl_decoder *d, const sl_vocab *v, const sl_lexicon *x, const sl_decode_other *other,
                          size_t n_other, sl_err *err);
void sl_decoder_fini(sl_decoder *d);

/* The bytes of a token, id in range, that is not the first of a text. */
static inline sl_bytes sl_decoder_bytes(const sl_decoder *d, size_t id)
{
    if (!d->text)
        return sl_lexicon_bytes(d->lexicon, id);
    return (sl_bytes){ d->text + d->offset[id], d->offset[id + 1] - d->offset[id] };
}
/* Append those of a token that is the first. */
void sl_decoder_first(const sl_decoder *d, size_t id, sl_str *out);

#endif
