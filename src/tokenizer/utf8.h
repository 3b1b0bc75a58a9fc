/* utf8.h - the rules of UTF-8 (Unicode 16, table 3-7), shared by both directions. */
#ifndef SL_TOKENIZER_UTF8_H
#define SL_TOKENIZER_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/num.h"

/* Bytes of the character that starts with `lead`; 0: no character starts so. */
static inline unsigned sl_utf8_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* May `c` be byte number `at` (from 1) of the character that starts with `lead`? The second
 * byte alone decides about overlong forms, surrogates and the end of the code space. */
static inline bool sl_utf8_follows(unsigned char lead, unsigned at, unsigned char c)
{
    if (at == 1) {
        if (lead == 0xe0)
            return c >= 0xa0 && c <= 0xbf;
        if (lead == 0xed)
            return c >= 0x80 && c <= 0x9f;
        if (lead == 0xf0)
            return c >= 0x90 && c <= 0xbf;
        if (lead == 0xf4)
            return c >= 0x80 && c <= 0x8f;
    }
    return (c & 0xc0) == 0x80;
}

/* The longest start of s that is whole UTF-8; *n_chars is its number of characters. */
static inline size_t sl_utf8_valid(const char *s, size_t n, size_t *n_chars)
{
    size_t i = 0, extra = 0;
    while (i < n) {
        if (n - i >= 8 && (sl_load_le64(s + i) & 0x8080808080808080u) == 0) {
            i += 8;
            continue;
        }
        const unsigned char lead = (unsigned char)s[i];
        const unsigned len = sl_utf8_length(lead);
        if (len == 0 || len > n - i)
            break;
        unsigned k = 1;
        while (k < len && sl_utf8_follows(lead, k, (unsigned char)s[i + k]))
            k++;
        if (k < len)
            break;
        i += len;
        extra += len - 1;
    }
    *n_chars = i - extra;
    return i;
}

/* The code point at s, which is whole UTF-8, and its length in bytes. */
static inline uint32_t sl_utf8_decode(const char *s, unsigned *len)
{
    const unsigned char *u = (const unsigned char *)s;
    *len = sl_utf8_length(u[0]);
    switch (*len) {
    case 1:
        return u[0];
    case 2:
        return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
    case 3:
        return (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
    default:
        return (u[0] & 0x07u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu);
    }
}

/* The bytes of a code point, which is no surrogate, into s; their number. */
static inline unsigned sl_utf8_encode(uint32_t c, char s[4])
{
    if (c < 0x80) {
        s[0] = (char)c;
        return 1;
    }
    const unsigned n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (unsigned i = n - 1; i > 0; i--, c >>= 6)
        s[i] = (char)(0x80 | (c & 0x3f));
    s[0] = (char)(lead[n] | c);
    return n;
}

#endif
