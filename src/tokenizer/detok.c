/* detok.c - ids to text, whole characters only. */
#include <string.h>

#include "tokenizer/impl.h"
#include "tokenizer/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

sl_bytes sl_token_bytes(const sl_tokenizer *t, int32_t id, bool special)
{
    if (id < 0 || (size_t)id >= t->lexicon.n)
        return (sl_bytes){ "", 0 };
    const sl_token_kind kind = sl_lexicon_kind(&t->lexicon, (size_t)id);
    if (!special && (kind == SL_TOKEN_CONTROL || kind == SL_TOKEN_UNKNOWN))
        return (sl_bytes){ "", 0 };
    return sl_lexicon_bytes(&t->lexicon, (size_t)id);
}

void sl_detok_init(sl_detok *d, const sl_tokenizer *t, bool special)
{
    *d = (sl_detok){ .tokenizer = t, .special = special };
}

void sl_detok_flush(sl_detok *d, sl_str *out)
{
    if (d->n_held > 0)
        sl_str_puts(out, REPLACEMENT); /* what is held is one maximal part of a character */
    d->n_held = 0;
}

/* Take one byte while a character is open or begins. */
static void take(sl_detok *d, unsigned char c, sl_str *out)
{
    if (d->n_held > 0 && !sl_utf8_follows(d->held[0], d->n_held, c))
        sl_detok_flush(d, out); /* c may begin the next one */
    if (d->n_held == 0 && sl_utf8_length(c) == 0) {
        sl_str_puts(out, REPLACEMENT);
        return;
    }
    d->held[d->n_held++] = c;
    if (d->n_held == sl_utf8_length(d->held[0])) {
        sl_str_append(out, (const char *)d->held, d->n_held);
        d->n_held = 0;
    }
}

void sl_detok_next(sl_detok *d, int32_t id, sl_str *out)
{
    const sl_bytes bytes = sl_token_bytes(d->tokenizer, id, d->special);
    for (size_t i = 0; i < bytes.len;) {
        size_t n_chars = 0;
        const size_t whole = d->n_held == 0 ? sl_utf8_valid(bytes.data + i, bytes.len - i, &n_chars) : 0;
        sl_str_append(out, bytes.data + i, whole);
        i += whole;
        if (i < bytes.len)
            take(d, (unsigned char)bytes.data[i++], out);
    }
}
