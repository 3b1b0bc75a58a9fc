/* utf8.c - code points, classes and cases, on utf8proc and the small tables of case_tab.c. */
#include "chat/utf8_in.h"

#include <utf8proc.h>

#include "base/num.h"
#include "chat/case_tab_in.h"

bool sl_jj_utf8_valid(const char *s, size_t n, size_t *bad)
{
    for (size_t i = 0; i < n;) {
        const unsigned char *p = (const unsigned char *)s + i;
        const size_t w = sl_jj_utf8_width(p[0]);
        bool ok = (p[0] < 0x80 || p[0] >= 0xc2) && p[0] < 0xf5 && w <= n - i;
        for (size_t k = 1; ok && k < w; k++)
            ok = (p[k] & 0xc0) == 0x80;
        if (ok && w == 3)
            ok = !(p[0] == 0xe0 && p[1] < 0xa0) && !(p[0] == 0xed && p[1] >= 0xa0);
        if (ok && w == 4)
            ok = !(p[0] == 0xf0 && p[1] < 0x90) && !(p[0] == 0xf4 && p[1] >= 0x90);
        if (!ok) {
            *bad = i;
            return false;
        }
        i += w;
    }
    return true;
}

size_t sl_jj_utf8_count(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

size_t sl_jj_utf8_offset(const char *s, size_t n, size_t index)
{
    size_t i = 0;
    while (i < n && index-- > 0)
        i += sl_jj_utf8_width((unsigned char)s[i]);
    return SL_MIN(i, n);
}

size_t sl_jj_utf8_put(char out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return n;
}

bool sl_jj_is_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

bool sl_jj_is_line_break(uint32_t c)
{
    return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

static utf8proc_category_t category(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c);
}

static bool in_spans(const sl_jj_span *spans, size_t n, uint32_t c)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (c > spans[mid].last)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && c >= spans[lo].first;
}

bool sl_jj_is_printable(uint32_t c)
{
    switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    case UTF8PROC_CATEGORY_ZS:
        return c == ' ';
    default:
        return true;
    }
}

bool sl_jj_is_alpha(uint32_t c)
{
    const utf8proc_category_t k = category(c);
    return k == UTF8PROC_CATEGORY_LU || k == UTF8PROC_CATEGORY_LL || k == UTF8PROC_CATEGORY_LT ||
           k == UTF8PROC_CATEGORY_LM || k == UTF8PROC_CATEGORY_LO;
}

bool sl_jj_is_decimal(uint32_t c)
{
    return category(c) == UTF8PROC_CATEGORY_ND;
}

bool sl_jj_is_digit(uint32_t c)
{
    return sl_jj_is_decimal(c) || in_spans(sl_jj_other_digits, SL_JJ_N_OTHER_DIGITS, c);
}

bool sl_jj_is_numeric(uint32_t c)
{
    const utf8proc_category_t k = category(c);
    return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO ||
           in_spans(sl_jj_other_numerics, SL_JJ_N_OTHER_NUMERICS, c);
}

bool sl_jj_is_word(uint32_t c)
{
    return c == '_' || sl_jj_is_alpha(c) || sl_jj_is_numeric(c);
}

bool sl_jj_is_upper(uint32_t c)
{
    return category(c) == UTF8PROC_CATEGORY_LU || in_spans(sl_jj_other_uppers, SL_JJ_N_OTHER_UPPERS, c);
}

bool sl_jj_is_lower(uint32_t c)
{
    return category(c) == UTF8PROC_CATEGORY_LL || in_spans(sl_jj_other_lowers, SL_JJ_N_OTHER_LOWERS, c);
}

bool sl_jj_is_title(uint32_t c)
{
    return category(c) == UTF8PROC_CATEGORY_LT;
}

bool sl_jj_is_cased(uint32_t c)
{
    return sl_jj_is_upper(c) || sl_jj_is_lower(c) || sl_jj_is_title(c);
}

bool sl_jj_is_case_ignorable(uint32_t c)
{
    switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default: /* word-breaking punctuation that may stand inside a word */
        return c == '\'' || c == '.' || c == ':' || c == 0xb7 || c == 0x387 || c == 0x55f || c == 0x5f4 ||
               c == 0x2018 || c == 0x2019 || c == 0x2024 || c == 0x2027 || c == 0xfe13 || c == 0xfe52 || c == 0xfe55 ||
               c == 0xff07 || c == 0xff0e || c == 0xff1a;
    }
}

static size_t map_special(const sl_jj_special *table, size_t n, uint32_t c, uint32_t out[3])
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (c > table[mid].from)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == n || table[lo].from != c)
        return 0;
    size_t len = 0;
    while (len < 3 && table[lo].to[len]) {
        out[len] = table[lo].to[len];
        len++;
    }
    return len;
}

size_t sl_jj_map_case(sl_jj_case to, uint32_t c, uint32_t out[3])
{
    const utf8proc_int32_t u = (utf8proc_int32_t)c;
    size_t n = 0;
    if (to == SL_JJ_UPPER)
        n = map_special(sl_jj_special_upper, SL_JJ_N_SPECIAL_UPPER, c, out);
    else if (to == SL_JJ_TITLE)
        n = map_special(sl_jj_special_title, SL_JJ_N_SPECIAL_TITLE, c, out);
    if (n > 0)
        return n;
    if (to == SL_JJ_FOLD) {
        utf8proc_int32_t folded[3] = { 0 };
        const utf8proc_ssize_t used = utf8proc_decompose_char(u, folded, 3, UTF8PROC_CASEFOLD, NULL);
        for (; (utf8proc_ssize_t)n < used && n < 3; n++)
            out[n] = (uint32_t)folded[n];
        return n;
    }
    if (to == SL_JJ_LOWER && c == 0x130) { /* I with a dot: i and a combining dot */
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    const utf8proc_int32_t mapped = to == SL_JJ_UPPER   ? utf8proc_toupper(u)
                                    : to == SL_JJ_LOWER ? utf8proc_tolower(u)
                                                        : utf8proc_totitle(u);
    out[0] = (uint32_t)mapped;
    return 1;
}
