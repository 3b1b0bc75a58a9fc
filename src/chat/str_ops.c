/* str_ops.c - work on strings that methods and filters share. */
#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY SL_JJ_TRY

/* Is the code point c one of `chars`? MISSING and none: is it white space? */
static bool strips(sl_jj_value chars, uint32_t c)
{
    if (chars.kind != SL_JJ_STR)
        return sl_jj_is_space(c);
    for (size_t i = 0, w = 0; i < chars.len; i += w)
        if (sl_jj_utf8_get(chars.u.s + i, &w) == c)
            return true;
    return false;
}

sl_status sl_jj_str_strip(sl_jj_render *r, sl_jj_value s, sl_jj_value chars, int sides, sl_jj_value *out)
{
    size_t from = 0, to = s.len, w = 0;
    if (chars.kind != SL_JJ_STR && chars.kind != SL_JJ_MISSING && chars.kind != SL_JJ_NONE)
        return sl_jj_fail(r, SL_EFORMAT, "strip wants a string or none, not '%s'", sl_jj_type_name(chars));
    const size_t cost = 1 + (chars.kind == SL_JJ_STR ? chars.len / 16 : 0);
    while ((sides & SL_JJ_LEFT) && from < to && strips(chars, sl_jj_utf8_get(s.u.s + from, &w))) {
        TRY(sl_jj_step(r, cost));
        from += w;
    }
    while ((sides & SL_JJ_RIGHT) && from < to) {
        const size_t last = sl_jj_utf8_last(s.u.s + from, to - from);
        if (!strips(chars, sl_jj_utf8_get(s.u.s + to - last, &w)))
            break;
        TRY(sl_jj_step(r, cost));
        to -= last;
    }
    *out = sl_jj_str(s.u.s + from, to - from);
    out->flag = s.flag;
    return SL_OK;
}

sl_status sl_jj_str_replace(sl_jj_render *r, sl_jj_value s, sl_jj_value from, sl_jj_value to, int64_t count,
                            sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    size_t at = 0;
    TRY(sl_jj_step(r, s.len / 8));
    while (count != 0) {
        /* An empty pattern is found in front of each character, and at the end. */
        const char *hit = from.len > 0 ? memmem(s.u.s + at, s.len - at, from.u.s, from.len) : s.u.s + at;
        if (!hit)
            break;
        const size_t skip = (size_t)(hit - s.u.s) - at;
        TRY(sl_jj_buf_add(r, &b, s.u.s + at, skip));
        TRY(sl_jj_buf_add(r, &b, to.u.s, to.len));
        TRY(sl_jj_step(r, 1));
        at += skip + from.len;
        count -= count > 0;
        if (from.len > 0)
            continue;
        if (at == s.len)
            break;
        const size_t w = sl_jj_utf8_width((unsigned char)s.u.s[at]);
        TRY(sl_jj_buf_add(r, &b, s.u.s + at, w));
        at += w;
    }
    TRY(sl_jj_buf_add(r, &b, s.u.s + at, s.len - at));
    *out = sl_jj_buf_value(&b);
    out->flag = s.flag;
    return SL_OK;
}

sl_status sl_jj_str_pad(sl_jj_render *r, sl_jj_value s, int64_t width, sl_jj_value fill, int sides, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    size_t n = 0;
    if (fill.kind == SL_JJ_MISSING)
        fill = sl_jj_text(" ");
    if (fill.kind != SL_JJ_STR || sl_jj_utf8_count(fill.u.s, fill.len) != 1)
        return sl_jj_fail(r, SL_EFORMAT, "the fill must be one character");
    TRY(sl_jj_length(r, s, &n));
    const size_t pad = width > (int64_t)n ? (size_t)width - n : 0;
    if (pad > SL_JJ_MAX_OUTPUT)
        return sl_jj_fail(r, SL_EFORMAT, "more than %zu MiB of text", SL_JJ_MAX_OUTPUT >> 20);
    /* Python's center puts the odd one to the left if the width is odd, too. */
    const size_t left = sides == SL_JJ_BOTH ? pad / 2 + (pad & (size_t)width & 1) : sides == SL_JJ_LEFT ? pad : 0;
    for (size_t i = 0; i < left; i++)
        TRY(sl_jj_buf_add(r, &b, fill.u.s, fill.len));
    TRY(sl_jj_buf_add(r, &b, s.u.s, s.len));
    for (size_t i = left; i < pad; i++)
        TRY(sl_jj_buf_add(r, &b, fill.u.s, fill.len));
    TRY(sl_jj_step(r, pad));
    *out = sl_jj_buf_value(&b);
    out->flag = s.flag;
    return SL_OK;
}

sl_status sl_jj_str_lines(sl_jj_render *r, sl_jj_value s, bool keep_ends, sl_jj_seq **out)
{
    TRY(sl_jj_seq_new(r, 0, out));
    TRY(sl_jj_step(r, s.len / 8));
    size_t start = 0;
    for (size_t i = 0, w = 0; i < s.len; i += w) {
        if (!sl_jj_is_line_break(sl_jj_utf8_get(s.u.s + i, &w)))
            continue;
        const size_t end = i;
        if (s.u.s[i] == '\r' && i + 1 < s.len && s.u.s[i + 1] == '\n')
            w = 2;
        sl_jj_value line = sl_jj_str(s.u.s + start, (keep_ends ? i + w : end) - start);
        line.flag = s.flag;
        TRY(sl_jj_seq_push(r, *out, line));
        start = i + w;
    }
    if (start == s.len)
        return SL_OK;
    sl_jj_value line = sl_jj_str(s.u.s + start, s.len - start);
    line.flag = s.flag;
    return sl_jj_seq_push(r, *out, line);
}

sl_status sl_jj_str_join(sl_jj_render *r, sl_jj_value sep, sl_jj_value items, bool convert, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    sl_jj_iter *it = NULL;
    TRY(sl_jj_iter_open(r, items, &it));
    for (size_t i = 0;; i++) {
        sl_jj_value v = { 0 };
        bool done = false;
        TRY(sl_jj_iter_next(r, it, &v, &done));
        if (done)
            break;
        if (i > 0)
            TRY(sl_jj_buf_add(r, &b, sep.u.s, sep.len));
        if (!convert && v.kind != SL_JJ_STR)
            return sl_jj_fail(r, SL_EFORMAT, "sequence item %zu: expected a string, found '%s'", i, sl_jj_type_name(v));
        if (sep.flag)
            TRY(sl_jj_escape(r, v, &v));
        TRY(sl_jj_print(r, &b, v));
    }
    *out = sl_jj_buf_value(&b);
    out->flag = sep.flag;
    return SL_OK;
}
