/* json.c - the tojson filter: json.dumps of Python, byte for byte. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY SL_JJ_TRY

static sl_status write_value(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v, const sl_jj_json_style *style, size_t level);

static sl_status write_char(sl_jj_render *r, sl_jj_buf *b, uint32_t c, const char *raw, size_t w, bool ascii)
{
    static const char plain[] = "\"\"\\\\\nn\rr\tt\ff\bb";
    char text[16] = "";
    for (size_t i = 0; i + 1 < sizeof plain; i += 2)
        if (c == (unsigned char)plain[i]) {
            snprintf(text, sizeof text, "\\%c", plain[i + 1]);
            return sl_jj_buf_puts(r, b, text);
        }
    if (c < 0x20 || (ascii && c >= 0x80 && c < 0x10000))
        snprintf(text, sizeof text, "\\u%04x", c);
    else if (ascii && c >= 0x10000)
        snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + ((c - 0x10000) & 0x3ff));
    else
        return sl_jj_buf_add(r, b, raw, w);
    return sl_jj_buf_puts(r, b, text);
}

static sl_status write_string(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v, const sl_jj_json_style *style)
{
    TRY(sl_jj_step(r, v.len / 8));
    TRY(sl_jj_buf_puts(r, b, "\""));
    for (size_t i = 0, w = 0; i < v.len; i += w) {
        const uint32_t c = sl_jj_utf8_get(v.u.s + i, &w);
        TRY(write_char(r, b, c, v.u.s + i, w, style->ascii));
    }
    return sl_jj_buf_puts(r, b, "\"");
}

static sl_status write_scalar(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v)
{
    if (v.kind == SL_JJ_NONE)
        return sl_jj_buf_puts(r, b, "null");
    if (v.kind == SL_JJ_BOOL)
        return sl_jj_buf_puts(r, b, v.u.b ? "true" : "false");
    if (v.kind == SL_JJ_FLOAT && !isfinite(v.u.f))
        return sl_jj_buf_puts(r, b, isnan(v.u.f) ? "NaN" : v.u.f > 0 ? "Infinity" : "-Infinity");
    return sl_jj_repr(r, b, v);
}

static bool is_scalar(sl_jj_value v)
{
    return v.kind == SL_JJ_NONE || sl_jj_is_number(v);
}

/* In front of an item: the separator unless it is the first, and the indentation. */
static sl_status write_break(sl_jj_render *r, sl_jj_buf *b, const sl_jj_json_style *style, bool separator, size_t level)
{
    if (separator)
        TRY(sl_jj_buf_add(r, b, style->item_sep.u.s, style->item_sep.len));
    if (!style->has_indent)
        return SL_OK;
    TRY(sl_jj_buf_puts(r, b, "\n"));
    for (size_t i = 0; i < level; i++)
        TRY(sl_jj_buf_add(r, b, style->indent.u.s, style->indent.len));
    return SL_OK;
}

static sl_status write_list(sl_jj_render *r, sl_jj_buf *b, const sl_jj_seq *s, const sl_jj_json_style *style,
                            size_t level)
{
    TRY(sl_jj_buf_puts(r, b, "["));
    for (size_t i = 0; i < s->n; i++) {
        TRY(write_break(r, b, style, i > 0, level + 1));
        TRY(write_value(r, b, s->items[i], style, level + 1));
    }
    if (s->n > 0)
        TRY(write_break(r, b, style, false, level));
    return sl_jj_buf_puts(r, b, "]");
}

/* Bottom-up merge sort of the pairs by key. */
static sl_status sorted_pairs(sl_jj_render *r, const sl_jj_dict *d, const sl_jj_pair **out)
{
    sl_jj_pair *from = NULL, *to = NULL;
    TRY(sl_jj_alloc(r, d->n, sizeof *from, &from));
    TRY(sl_jj_alloc(r, d->n, sizeof *to, &to));
    memcpy(from, d->pairs, d->n * sizeof *from);
    for (size_t width = 1; width < d->n; width *= 2) {
        for (size_t lo = 0; lo < d->n; lo += 2 * width) {
            const size_t mid = lo + width < d->n ? lo + width : d->n;
            const size_t hi = lo + 2 * width < d->n ? lo + 2 * width : d->n;
            for (size_t i = lo, j = mid, k = lo; k < hi; k++) {
                int order = i < mid ? -1 : 1;
                if (i < mid && j < hi)
                    TRY(sl_jj_order(r, from[j].key, from[i].key, &order));
                else
                    order = i < mid ? 0 : -1;
                to[k] = order == -1 ? from[j++] : from[i++];
            }
        }
        sl_jj_pair *swap = from;
        from = to;
        to = swap;
    }
    *out = from;
    return SL_OK;
}

static sl_status write_dict(sl_jj_render *r, sl_jj_buf *b, const sl_jj_dict *d, const sl_jj_json_style *style,
                            size_t level)
{
    const sl_jj_pair *pairs = d->pairs;
    if (style->sort && d->n > 1)
        TRY(sorted_pairs(r, d, &pairs));
    TRY(sl_jj_buf_puts(r, b, "{"));
    for (size_t i = 0; i < d->n; i++) {
        const sl_jj_value key = pairs[i].key;
        TRY(write_break(r, b, style, i > 0, level + 1));
        if (key.kind != SL_JJ_STR && !is_scalar(key))
            return sl_jj_fail(r, SL_EFORMAT, "a key of JSON cannot be of type '%s'", sl_jj_type_name(key));
        if (key.kind != SL_JJ_STR) {
            TRY(sl_jj_buf_puts(r, b, "\""));
            TRY(write_scalar(r, b, key));
            TRY(sl_jj_buf_puts(r, b, "\""));
        } else {
            TRY(write_string(r, b, key, style));
        }
        TRY(sl_jj_buf_add(r, b, style->key_sep.u.s, style->key_sep.len));
        TRY(write_value(r, b, pairs[i].value, style, level + 1));
    }
    if (d->n > 0)
        TRY(write_break(r, b, style, false, level));
    return sl_jj_buf_puts(r, b, "}");
}

static sl_status write_value(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v, const sl_jj_json_style *style, size_t level)
{
    TRY(sl_jj_step(r, 1));
    if (v.kind == SL_JJ_STR)
        return write_string(r, b, v, style);
    if (is_scalar(v))
        return write_scalar(r, b, v);
    if (v.kind != SL_JJ_LIST && v.kind != SL_JJ_TUPLE && v.kind != SL_JJ_DICT)
        return sl_jj_fail(r, SL_EFORMAT, "an object of type '%s' is not JSON serializable", sl_jj_type_name(v));
    TRY(sl_jj_enter(r));
    TRY(v.kind == SL_JJ_DICT ? write_dict(r, b, v.u.dict, style, level) : write_list(r, b, v.u.seq, style, level));
    sl_jj_leave(r);
    return SL_OK;
}

sl_status sl_jj_json(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v, const sl_jj_json_style *style)
{
    return write_value(r, b, v, style, 0);
}
