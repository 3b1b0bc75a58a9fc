/* specials.h - tokens that are matched in the text before anything else. */
#ifndef SL_TOKENIZER_SPECIALS_H
#define SL_TOKENIZER_SPECIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "tokenizer/lexicon.h"

/* Ids of control, unknown and user tokens, sorted by their bytes. */
typedef struct sl_specials {
    const sl_lexicon *lexicon;
    int32_t *id;
    size_t n;
    uint8_t starts[256]; /* what kind may start with this byte: STARTS_* in specials.c */
} sl_specials;

/* Keeps x. SL_ENOMEM. */
sl_status sl_specials_init(sl_specials *s, const sl_lexicon *x, sl_err *err);
void sl_specials_fini(sl_specials *s);

/* The first place at or after `from` where one stands, *id the longest that does; words that a
 * user added count always, control tokens only with `control`. None: len, and *id is -1. */
size_t sl_specials_next(const sl_specials *s, const char *text, size_t len, size_t from, bool control, int32_t *id);

/* The first place at or after `from` where a control token stands, or would if the right text
 * followed. None: len. */
size_t sl_specials_next_control(const sl_specials *s, const char *text, size_t len, size_t from);

#endif
