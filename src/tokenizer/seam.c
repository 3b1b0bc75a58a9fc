/* seam.c - a bit for each pair of bytes, or a hashed one for each pair of characters: a bit that
 * is set for want of room only leaves a part longer. */
#include "tokenizer/seam.h"

#include "base/mem.h"
#include "tokenizer/utf8.h"

#define BITS_BYTES 16
#define BITS_CHARS 20

static inline uint32_t place(const sl_bpe *b, uint32_t first, uint32_t second)
{
    if (!b->chars)
        return first << 8 | second;
    const uint64_t h = ((uint64_t)first << 32 | second) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> (64 - BITS_CHARS));
}

static inline uint32_t next_symbol(const sl_bpe *b, const char *s, size_t *at)
{
    unsigned n = 1;
    const uint32_t c = b->chars ? sl_utf8_decode(s + *at, &n) : (unsigned char)s[*at];
    *at += n;
    return c;
}

static void mark(sl_bpe *b, const char *s, size_t len)
{
    size_t at = 0, n_chars = 0;
    if (len == 0 || (b->chars && sl_utf8_valid(s, len, &n_chars) < len))
        return; /* no text of whole characters holds it */
    for (uint32_t before = next_symbol(b, s, &at), c = 0; at < len; before = c) {
        c = next_symbol(b, s, &at);
        const uint32_t bit = place(b, before, c);
        b->seams[bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

sl_status sl_seam_init(sl_bpe *b, sl_err *err)
{
    b->seams = sl_mem_zalloc(((size_t)1 << (b->chars ? BITS_CHARS : BITS_BYTES)) / 64, sizeof *b->seams);
    if (!b->seams)
        return sl_fail(err, SL_ENOMEM, "no memory for the vocabulary's table of neighbours");
    for (size_t i = 0; i < b->lexicon->n; i++) {
        const sl_bytes s = sl_lexicon_bytes(b->lexicon, i);
        mark(b, s.data, s.len);
    }
    /* A byte without a token goes away, and its neighbours meet. */
    for (uint32_t byte = 0; !b->chars && byte < 256; byte++)
        for (uint32_t other = 0; b->byte_id[byte] < 0 && other < 256; other++) {
            b->seams[place(b, byte, other) / 64] |= (uint64_t)1 << other % 64;
            b->seams[place(b, other, byte) / 64] |= (uint64_t)1 << byte % 64;
        }
    return SL_OK;
}

size_t sl_seam_next(const sl_bpe *b, const char *text, size_t len)
{
    size_t at = 0;
    for (uint32_t before = next_symbol(b, text, &at), c = 0; at < len; before = c) {
        const size_t seam = at;
        c = next_symbol(b, text, &at);
        const uint32_t bit = place(b, before, c);
        if (!(b->seams[bit / 64] >> bit % 64 & 1))
            return seam;
    }
    return len;
}
