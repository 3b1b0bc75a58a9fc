/* text.c - values as text: str() and repr() of Python, and HTML escapes. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY SL_JJ_TRY

/* The fewest digits that read back as the same number; 15 always suffice where fewer do. */
static int shortest_digits(char digits[40], double f)
{
    for (int n = fabs(f) < DBL_MIN ? 1 : 15;; n++) {
        snprintf(digits, 40, "%.*e", n - 1, f);
        if (n == 17 || strtod(digits, NULL) == f)
            return n;
    }
}

/* Source: Python's float.__repr__: exponent form outside of 1e-4 <= |f| < 1e16. */
size_t sl_jj_float_text(char buf[32], double f)
{
    char sci[40] = "", digits[24] = "";
    if (!isfinite(f))
        return (size_t)snprintf(buf, 32, "%s", isnan(f) ? "nan" : f > 0 ? "inf" : "-inf");
    if (f == 0)
        return (size_t)snprintf(buf, 32, "%s", signbit(f) ? "-0.0" : "0.0");
    (void)shortest_digits(sci, f);
    const char *sign = sci[0] == '-' ? "-" : "";
    const char *p = sci + (sci[0] == '-');
    int n = 0;
    for (; *p && *p != 'e'; p++)
        if (*p != '.')
            digits[n++] = *p;
    const int exponent = atoi(p + 1);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    if (exponent < -4 || exponent >= 16)
        return (size_t)snprintf(buf, 32, "%s%c%s%se%c%02d", sign, digits[0], n > 1 ? "." : "", digits + 1,
                                exponent < 0 ? '-' : '+', abs(exponent));
    if (exponent < 0)
        return (size_t)snprintf(buf, 32, "%s0.%.*s%s", sign, -exponent - 1, "000", digits);
    if (n <= exponent + 1)
        return (size_t)snprintf(buf, 32, "%s%s%.*s.0", sign, digits, exponent + 1 - n, "0000000000000000");
    return (size_t)snprintf(buf, 32, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
}

static sl_status repr_escape(sl_jj_render *r, sl_jj_buf *b, uint32_t c)
{
    char text[16] = "";
    const char *fmt = c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x";
    if (c == '\n' || c == '\r' || c == '\t')
        snprintf(text, sizeof text, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else
        snprintf(text, sizeof text, fmt, c);
    return sl_jj_buf_puts(r, b, text);
}

static sl_status repr_str(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v)
{
    const bool has_single = memchr(v.u.s, '\'', v.len) != NULL, has_double = memchr(v.u.s, '"', v.len) != NULL;
    const char quote = has_single && !has_double ? '"' : '\'';
    TRY(sl_jj_step(r, v.len / 8));
    if (v.flag)
        TRY(sl_jj_buf_puts(r, b, "Markup("));
    TRY(sl_jj_buf_add(r, b, &quote, 1));
    for (size_t i = 0, w = 0; i < v.len; i += w) {
        const uint32_t c = sl_jj_utf8_get(v.u.s + i, &w);
        if (c == (unsigned char)quote || c == '\\')
            TRY(sl_jj_buf_puts(r, b, "\\"));
        if (sl_jj_is_printable(c))
            TRY(sl_jj_buf_add(r, b, v.u.s + i, w));
        else
            TRY(repr_escape(r, b, c));
    }
    TRY(sl_jj_buf_add(r, b, &quote, 1));
    return v.flag ? sl_jj_buf_puts(r, b, ")") : SL_OK;
}

static sl_status repr_items(sl_jj_render *r, sl_jj_buf *b, const sl_jj_seq *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (i > 0)
            TRY(sl_jj_buf_puts(r, b, ", "));
        TRY(sl_jj_repr(r, b, s->items[i]));
    }
    return SL_OK;
}

static sl_status repr_dict(sl_jj_render *r, sl_jj_buf *b, const sl_jj_dict *d)
{
    TRY(sl_jj_buf_puts(r, b, "{"));
    for (size_t i = 0; i < d->n; i++) {
        if (i > 0)
            TRY(sl_jj_buf_puts(r, b, ", "));
        TRY(sl_jj_repr(r, b, d->pairs[i].key));
        TRY(sl_jj_buf_puts(r, b, ": "));
        TRY(sl_jj_repr(r, b, d->pairs[i].value));
    }
    return sl_jj_buf_puts(r, b, "}");
}

static sl_status repr_view(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v)
{
    static const char *const names[] = { "dict_keys([", "dict_values([", "dict_items([" };
    TRY(sl_jj_buf_puts(r, b, names[v.flag]));
    for (size_t i = 0; i < v.u.dict->n; i++) {
        sl_jj_value item = { 0 };
        if (i > 0)
            TRY(sl_jj_buf_puts(r, b, ", "));
        TRY(sl_jj_view_item(r, v, i, &item));
        TRY(sl_jj_repr(r, b, item));
    }
    return sl_jj_buf_puts(r, b, "])");
}

static sl_status repr_range(sl_jj_render *r, sl_jj_buf *b, const sl_jj_range *range)
{
    char text[80] = "";
    int n = snprintf(text, sizeof text, "range(%lld, %lld", (long long)range->start, (long long)range->stop);
    if (range->step != 1)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %lld", (long long)range->step);
    snprintf(text + n, sizeof text - (size_t)n, ")");
    return sl_jj_buf_puts(r, b, text);
}

static sl_status repr_macro(sl_jj_render *r, sl_jj_buf *b, const sl_jj_macro *m)
{
    if (m->node->type != SL_JJ_MACRO_DEF)
        return sl_jj_buf_puts(r, b, "<Macro anonymous>");
    TRY(sl_jj_buf_puts(r, b, "<Macro "));
    TRY(sl_jj_repr(r, b, m->node->value));
    return sl_jj_buf_puts(r, b, ">");
}

static sl_status repr_container(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v)
{
    switch ((sl_jj_kind)v.kind) {
    case SL_JJ_LIST:
        TRY(sl_jj_buf_puts(r, b, "["));
        TRY(repr_items(r, b, v.u.seq));
        return sl_jj_buf_puts(r, b, "]");
    case SL_JJ_TUPLE:
        TRY(sl_jj_buf_puts(r, b, "("));
        TRY(repr_items(r, b, v.u.seq));
        return sl_jj_buf_puts(r, b, v.u.seq->n == 1 ? ",)" : ")");
    case SL_JJ_DICT:
        return repr_dict(r, b, v.u.dict);
    case SL_JJ_NAMESPACE:
        TRY(sl_jj_buf_puts(r, b, "<Namespace "));
        TRY(repr_dict(r, b, v.u.dict));
        return sl_jj_buf_puts(r, b, ">");
    case SL_JJ_VIEW:
        return repr_view(r, b, v);
    case SL_JJ_RANGE:
        return repr_range(r, b, v.u.range);
    case SL_JJ_MACRO:
        return repr_macro(r, b, v.u.macro);
    default: /* Python would print an address */
        return sl_jj_fail(r, SL_EUNSUPPORTED, "a '%s' cannot be printed", sl_jj_type_name(v));
    }
}

sl_status sl_jj_repr(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v)
{
    char text[32] = "";
    TRY(sl_jj_step(r, 1));
    switch ((sl_jj_kind)v.kind) {
    case SL_JJ_MISSING:
    case SL_JJ_UNDEFINED:
        return sl_jj_buf_puts(r, b, "Undefined");
    case SL_JJ_NONE:
        return sl_jj_buf_puts(r, b, "None");
    case SL_JJ_BOOL:
        return sl_jj_buf_puts(r, b, v.u.b ? "True" : "False");
    case SL_JJ_INT:
        return sl_jj_buf_add(r, b, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)v.u.i));
    case SL_JJ_FLOAT:
        return sl_jj_buf_add(r, b, text, sl_jj_float_text(text, v.u.f));
    case SL_JJ_STR:
        return repr_str(r, b, v);
    default:
        TRY(sl_jj_enter(r));
        TRY(repr_container(r, b, v));
        sl_jj_leave(r);
        return SL_OK;
    }
}

sl_status sl_jj_print(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v)
{
    if (v.kind == SL_JJ_STR)
        return sl_jj_buf_add(r, b, v.u.s, v.len);
    return v.kind == SL_JJ_UNDEFINED || v.kind == SL_JJ_MISSING ? SL_OK : sl_jj_repr(r, b, v);
}

sl_status sl_jj_to_str(sl_jj_render *r, sl_jj_value v, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    if (v.kind != SL_JJ_STR) {
        TRY(sl_jj_print(r, &b, v));
        v = sl_jj_buf_value(&b);
    }
    *out = v;
    return SL_OK;
}

sl_status sl_jj_escape(sl_jj_render *r, sl_jj_value v, sl_jj_value *out)
{
    static const char *const from = "&<>'\"";
    static const char *const to[] = { "&amp;", "&lt;", "&gt;", "&#39;", "&#34;" };
    sl_jj_buf b = { 0 };
    TRY(sl_jj_to_str(r, v, &v));
    for (size_t i = 0; !v.flag && i < v.len; i++) {
        const char *special = v.u.s[i] ? strchr(from, v.u.s[i]) : NULL;
        if (special)
            TRY(sl_jj_buf_puts(r, &b, to[special - from]));
        else
            TRY(sl_jj_buf_add(r, &b, v.u.s + i, 1));
    }
    *out = v.flag ? v : sl_jj_buf_value(&b);
    out->flag = 1;
    return SL_OK;
}
