/* chars.c - utf8proc, and tables of where the reference differs. */
#include "tokenizer/chars.h"

#include <utf8proc.h>

#include "tokenizer/chars_tab.h"

/* The last pair that begins at or below c; NULL: none. */
static const sl_char_pair *at_or_below(const sl_char_pair *pairs, size_t n, uint32_t c)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (pairs[mid].a <= c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo > 0 ? &pairs[lo - 1] : NULL;
}

static bool in_ranges(const sl_char_pair *pairs, size_t n, uint32_t c)
{
    const sl_char_pair *p = at_or_below(pairs, n, c);
    return p && c <= p->b;
}

bool sl_char_is_word(uint32_t c)
{
    return in_ranges(sl_chars_word, sl_chars_n_word, c);
}

bool sl_char_is_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 0x09 && c <= 0x0d);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

bool sl_char_is_python_space(uint32_t c)
{
    return sl_char_is_space(c) || (c >= 0x1c && c <= 0x1f);
}

bool sl_char_is_newer(uint32_t c)
{
    return c > 0x2ff && in_ranges(sl_chars_newer, sl_chars_n_newer, c);
}

bool sl_char_extends_newly(uint32_t c)
{
    return c > 0x2ff && in_ranges(sl_chars_extend, sl_chars_n_extend, c);
}

bool sl_char_is_accent(uint32_t c)
{
    if (c == 0x1cf2 || c == 0x1cf3) /* letters in newer versions of Unicode */
        return true;
    if (c < 0x300 || c > 0x10ffff || sl_char_is_newer(c))
        return false;
    const utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_ME;
}

unsigned sl_char_lower(uint32_t c, uint32_t out[2])
{
    if (c == 0x130) { /* capital I with a dot above */
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    const sl_char_pair *p = c < 0x80 ? NULL : at_or_below(sl_chars_lower, sl_chars_n_lower, c);
    out[0] = p && p->a == c ? p->b : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
    return 1;
}
