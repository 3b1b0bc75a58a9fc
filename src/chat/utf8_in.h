/* utf8_in.h - text as Python sees it: code points, their classes and cases. Strings are valid
 * UTF-8 (checked once, where they come in), so that nothing here can fail. */
#ifndef SL_CHAT_UTF8_IN_H
#define SL_CHAT_UTF8_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sl_jj_utf8_valid(const char *s, size_t n, size_t *bad);     /* *bad: offset of the first wrong byte */
size_t sl_jj_utf8_count(const char *s, size_t n);                /* code points */
size_t sl_jj_utf8_offset(const char *s, size_t n, size_t index); /* bytes of the first `index` code points, at most n */

static inline size_t sl_jj_utf8_width(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}
/* The code point at s; *width is its bytes. */
static inline uint32_t sl_jj_utf8_get(const char *s, size_t *width)
{
    const unsigned char *p = (const unsigned char *)s;
    *width = sl_jj_utf8_width(p[0]);
    switch (*width) {
    case 1:
        return p[0];
    case 2:
        return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    case 3:
        return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    default:
        return (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
    }
}
/* Bytes of the code point that ends at s + n; n > 0. */
static inline size_t sl_jj_utf8_last(const char *s, size_t n)
{
    size_t w = 1;
    while (w < n && w < 4 && ((unsigned char)s[n - w] & 0xc0) == 0x80)
        w++;
    return w;
}
size_t sl_jj_utf8_put(char out[4], uint32_t c); /* bytes written */

/* Python's str.isspace, isalpha, ... for one code point. */
bool sl_jj_is_space(uint32_t c);
bool sl_jj_is_line_break(uint32_t c); /* of str.splitlines */
bool sl_jj_is_printable(uint32_t c);
bool sl_jj_is_alpha(uint32_t c);
bool sl_jj_is_decimal(uint32_t c);
bool sl_jj_is_digit(uint32_t c);   /* decimal, and superscripts and the like */
bool sl_jj_is_numeric(uint32_t c); /* fractions and Roman numerals, too */
bool sl_jj_is_word(uint32_t c);    /* \w of Python's re */
bool sl_jj_is_upper(uint32_t c);
bool sl_jj_is_lower(uint32_t c);
bool sl_jj_is_title(uint32_t c); /* title case letters as U+01C5 */
bool sl_jj_is_cased(uint32_t c);
bool sl_jj_is_case_ignorable(uint32_t c);

/* Full case mapping, up to 3 code points; the number of them. */
typedef enum sl_jj_case { SL_JJ_UPPER, SL_JJ_LOWER, SL_JJ_TITLE, SL_JJ_FOLD } sl_jj_case;
size_t sl_jj_map_case(sl_jj_case to, uint32_t c, uint32_t out[3]);

#endif
