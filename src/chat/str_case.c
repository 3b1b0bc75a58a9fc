/* str_case.c - upper and lower case of whole strings, as Python does it: full mappings, and the
 * Greek sigma that looks different at the end of a word. */
#include "chat/str_case_in.h"

#include "chat/builtin_in.h"

#define TRY           SL_JJ_TRY
#define CAPITAL_SIGMA 0x3a3u
#define FINAL_SIGMA   0x3c2u

/* Is there a cased letter right in front of (or behind) byte i, ignorable characters aside? */
static bool cased_before(sl_jj_value s, size_t i)
{
    size_t w = 0;
    while (i > 0) {
        i -= sl_jj_utf8_last(s.u.s, i);
        const uint32_t c = sl_jj_utf8_get(s.u.s + i, &w);
        if (!sl_jj_is_case_ignorable(c))
            return sl_jj_is_cased(c);
    }
    return false;
}
static bool cased_after(sl_jj_value s, size_t i)
{
    for (size_t w = 0; i < s.len; i += w) {
        const uint32_t c = sl_jj_utf8_get(s.u.s + i, &w);
        if (!sl_jj_is_case_ignorable(c))
            return sl_jj_is_cased(c);
    }
    return false;
}

static sl_status add_char(sl_jj_render *r, sl_jj_buf *b, sl_jj_value s, size_t i, size_t w, sl_jj_case which)
{
    size_t width = 0;
    uint32_t mapped[3] = { 0 };
    const uint32_t c = sl_jj_utf8_get(s.u.s + i, &width);
    size_t n = sl_jj_map_case(which, c, mapped);
    if (which == SL_JJ_LOWER && c == CAPITAL_SIGMA && cased_before(s, i) && !cased_after(s, i + w)) {
        TRY(sl_jj_step(r, s.len / 16));
        mapped[0] = FINAL_SIGMA;
    }
    for (size_t k = 0; k < n; k++) {
        char text[4] = "";
        TRY(sl_jj_buf_add(r, b, text, sl_jj_utf8_put(text, mapped[k])));
    }
    return SL_OK;
}

sl_status sl_jj_case_add(sl_jj_render *r, sl_jj_buf *b, sl_jj_value s, size_t from, size_t to, sl_jj_case which)
{
    TRY(sl_jj_step(r, (to - from) / 4));
    for (size_t i = from, w = 0; i < to; i += w) {
        w = sl_jj_utf8_width((unsigned char)s.u.s[i]);
        TRY(add_char(r, b, s, i, w, which));
    }
    return SL_OK;
}

static sl_status finish(sl_jj_value s, const sl_jj_buf *b, sl_jj_value *out)
{
    *out = sl_jj_buf_value(b);
    out->flag = s.flag;
    return SL_OK;
}

sl_status sl_jj_str_map(sl_jj_render *r, sl_jj_value s, sl_jj_case to, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    TRY(sl_jj_case_add(r, &b, s, 0, s.len, to));
    return finish(s, &b, out);
}

sl_status sl_jj_str_capitalize(sl_jj_render *r, sl_jj_value s, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    const size_t first = s.len > 0 ? sl_jj_utf8_width((unsigned char)s.u.s[0]) : 0;
    TRY(sl_jj_case_add(r, &b, s, 0, first, SL_JJ_TITLE));
    TRY(sl_jj_case_add(r, &b, s, first, s.len, SL_JJ_LOWER));
    return finish(s, &b, out);
}

sl_status sl_jj_str_title(sl_jj_render *r, sl_jj_value s, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    bool inside = false;
    TRY(sl_jj_step(r, s.len / 4));
    for (size_t i = 0, w = 0; i < s.len; i += w) {
        const uint32_t c = sl_jj_utf8_get(s.u.s + i, &w);
        TRY(add_char(r, &b, s, i, w, inside ? SL_JJ_LOWER : SL_JJ_TITLE));
        inside = sl_jj_is_cased(c);
    }
    return finish(s, &b, out);
}

sl_status sl_jj_str_swapcase(sl_jj_render *r, sl_jj_value s, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    TRY(sl_jj_step(r, s.len / 4));
    for (size_t i = 0, w = 0; i < s.len; i += w) {
        const uint32_t c = sl_jj_utf8_get(s.u.s + i, &w);
        if (sl_jj_is_upper(c))
            TRY(add_char(r, &b, s, i, w, SL_JJ_LOWER));
        else if (sl_jj_is_lower(c))
            TRY(add_char(r, &b, s, i, w, SL_JJ_UPPER));
        else
            TRY(sl_jj_buf_add(r, &b, s.u.s + i, w));
    }
    return finish(s, &b, out);
}

bool sl_jj_str_is_case(sl_jj_value s, sl_jj_case which)
{
    bool any = false, inside = false;
    for (size_t i = 0, w = 0; i < s.len; i += w) {
        const uint32_t c = sl_jj_utf8_get(s.u.s + i, &w);
        const bool up = sl_jj_is_upper(c), low = sl_jj_is_lower(c), title = sl_jj_is_title(c);
        if (which == SL_JJ_UPPER && (low || title))
            return false;
        if (which == SL_JJ_LOWER && (up || title))
            return false;
        if (which == SL_JJ_TITLE && (((up || title) && inside) || (low && !inside)))
            return false;
        inside = up || low || title;
        any |= which == SL_JJ_UPPER ? up : which == SL_JJ_LOWER ? low : inside;
    }
    return any;
}
