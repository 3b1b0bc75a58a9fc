/* format.c - the two ways in which Python fills a string: '%s' % x, and '{}'.format(x).
 * Source: the Python Library Reference, "printf-style String Formatting" and "Format String Syntax". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY           SL_JJ_TRY
#define MAX_WIDTH     100000
#define MAX_PRECISION 300

/* strchr without its terminator */
static bool one_of(const char *set, char c)
{
    return c && strchr(set, c);
}

typedef struct spec { /* of one field */
    bool left, plus, minus, space, alt, zero, has_width, has_precision, center, internal, no_minus_zero;
    char group; /* between thousands: ',' or '_' */
    int64_t width, precision;
    uint32_t fill;
    char type;
} spec;

static sl_status put_padded(sl_jj_render *r, sl_jj_buf *b, const spec *s, const char *prefix, const char *body,
                            size_t n);

/* The same with a separator in the digits that begin the body: every 3, or every 4 bits of base 2, 8
 * and 16. Zeros that fill the width are digits, too. */
static sl_status put_grouped(sl_jj_render *r, sl_jj_buf *b, const spec *s, const char *prefix, const char *body,
                             size_t n)
{
    const bool bits = one_of("boxX", s->type);
    const size_t every = bits ? 4 : 3;
    const size_t digits = SL_MIN(strspn(body, bits ? "0123456789abcdefABCDEF" : "0123456789"), n);
    const int64_t want = s->width - (int64_t)strlen(prefix) - (int64_t)(n - digits);
    size_t total = digits;
    spec plain = *s;
    sl_jj_buf text = { 0 };
    while (digits > 0 && s->internal && s->fill == '0' && (int64_t)(total + (total - 1) / every) < want)
        total++;
    for (size_t i = 0; i < total; i++) {
        if (i > 0 && (total - i) % every == 0)
            TRY(sl_jj_buf_add(r, &text, &s->group, 1));
        TRY(sl_jj_buf_add(r, &text, i < total - digits ? "0" : body + (i - (total - digits)), 1));
    }
    TRY(sl_jj_buf_add(r, &text, body + digits, n - digits));
    plain.group = '\0';
    return put_padded(r, b, &plain, prefix, text.data, text.n);
}

/* Sign and prefix, then padding or zeros, then the digits: in that order. */
static sl_status put_padded(sl_jj_render *r, sl_jj_buf *b, const spec *s, const char *prefix, const char *body,
                            size_t n)
{
    if (s->group)
        return put_grouped(r, b, s, prefix, body, n);
    const size_t len = strlen(prefix) + sl_jj_utf8_count(body, n);
    const size_t pad = s->has_width && s->width > (int64_t)len ? (size_t)s->width - len : 0;
    char fill[4] = "";
    const size_t fill_bytes = sl_jj_utf8_put(fill, s->internal ? s->fill : s->fill ? s->fill : ' ');
    const size_t before = s->left || s->internal ? 0 : s->center ? pad / 2 : pad;
    const size_t inside = s->internal ? pad : 0;
    for (size_t i = 0; i < before; i++)
        TRY(sl_jj_buf_add(r, b, fill, fill_bytes));
    TRY(sl_jj_buf_puts(r, b, prefix));
    for (size_t i = 0; i < inside; i++)
        TRY(sl_jj_buf_add(r, b, fill, fill_bytes));
    TRY(sl_jj_buf_add(r, b, body, n));
    for (size_t i = before + inside; i < pad; i++)
        TRY(sl_jj_buf_add(r, b, fill, fill_bytes));
    return SL_OK;
}

static const char *sign_of(const spec *s, bool negative)
{
    return negative ? "-" : s->plus ? "+" : s->space ? " " : "";
}

/* `text`: what will be shown of the number; the option z knows no negative zero. */
static const char *sign_of_float(const spec *s, double f, const char *text)
{
    const bool zero = s->no_minus_zero && text[strspn(text, "0.")] == '\0';
    return sign_of(s, signbit(f) && !isnan(f) && !zero);
}

static sl_status put_int(sl_jj_render *r, sl_jj_buf *b, const spec *s, int64_t v)
{
    char digits[128 + MAX_PRECISION] = "", reversed[72] = "", prefix[4] = "";
    const unsigned base = s->type == 'x' || s->type == 'X' ? 16 : s->type == 'o' ? 8 : s->type == 'b' ? 2 : 10;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    size_t n = 0, len = 0;
    do {
        reversed[n++] = (s->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[u % base];
        u /= base;
    } while (u > 0);
    for (int64_t i = (int64_t)n; s->has_precision && i < s->precision; i++)
        digits[len++] = '0';
    while (n > 0)
        digits[len++] = reversed[--n];
    snprintf(prefix, sizeof prefix, "%s%s", sign_of(s, v < 0),
             !s->alt || base == 10 ? ""
             : base == 8           ? "0o"
             : base == 2           ? "0b"
             : s->type == 'X'      ? "0X"
                                   : "0x");
    return put_padded(r, b, s, prefix, digits, len);
}

/* A float of 2^63 or more has no fraction: its digits are exact. */
static sl_status put_whole(sl_jj_render *r, sl_jj_buf *b, const spec *s, double f)
{
    char digits[400 + MAX_PRECISION] = "";
    const int n = snprintf(digits, sizeof digits, "%0*.0f", s->has_precision ? (int)s->precision : 0, fabs(f));
    return put_padded(r, b, s, sign_of(s, f < 0), digits, (size_t)n);
}

static sl_status put_float(sl_jj_render *r, sl_jj_buf *b, const spec *s, double f)
{
    char text[800] = "", fmt[16] = "";
    const int precision = s->has_precision ? (int)s->precision : 6;
    const bool percent = s->type == '%';
    const char type = percent ? 'f' : s->type;
    if (percent)
        f *= 100;
    if (!isfinite(f)) {
        const bool upper = type == 'E' || type == 'F' || type == 'G';
        snprintf(text, sizeof text, "%s%s",
                 isnan(f) ? (upper ? "NAN" : "nan")
                 : upper  ? "INF"
                          : "inf",
                 percent ? "%" : "");
    } else {
        snprintf(fmt, sizeof fmt, "%%%s.*%c%s", s->alt ? "#" : "", type, percent ? "%%" : "");
        /* the format is one of a few built above */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, fmt, precision, fabs(f));
#pragma GCC diagnostic pop
    }
    return put_padded(r, b, s, sign_of_float(s, f, text), text, strlen(text));
}

static sl_status put_text(sl_jj_render *r, sl_jj_buf *b, const spec *s, sl_jj_value text)
{
    const size_t n =
        s->has_precision ? sl_jj_utf8_offset(text.u.s, text.len, (size_t)SL_MAX(s->precision, (int64_t)0)) : text.len;
    return put_padded(r, b, s, "", text.u.s, n);
}

static sl_status bad_format(sl_jj_render *r, const char *what)
{
    return sl_jj_fail(r, SL_EFORMAT, "%s in a format string", what);
}

/* Arguments of %: one value, a tuple, or a dict by name. */
typedef struct percent_args {
    sl_jj_value all;
    size_t used;
    bool by_name;
} percent_args;

static sl_status next_arg(sl_jj_render *r, percent_args *a, sl_jj_value *out)
{
    const size_t n = a->all.kind == SL_JJ_TUPLE ? a->all.u.seq->n : 1;
    if (a->used >= n)
        return bad_format(r, "not enough arguments");
    *out = a->all.kind == SL_JJ_TUPLE ? a->all.u.seq->items[a->used] : a->all;
    a->used++;
    return SL_OK;
}

static sl_status parse_star_or_int(sl_jj_render *r, sl_jj_value fmt, size_t *i, percent_args *a, bool *has,
                                   int64_t *out)
{
    *out = 0;
    if (*i < fmt.len && fmt.u.s[*i] == '*') {
        sl_jj_value v = { 0 };
        (*i)++;
        TRY(next_arg(r, a, &v));
        if (!sl_jj_is_integral(v))
            return bad_format(r, "* wants an integer");
        *out = sl_jj_integral(v);
        *has = true;
    }
    for (; *i < fmt.len && fmt.u.s[*i] >= '0' && fmt.u.s[*i] <= '9'; (*i)++) {
        *out = *out * 10 + (fmt.u.s[*i] - '0');
        *has = true;
        if (*out > MAX_WIDTH)
            return bad_format(r, "a width or precision too large");
    }
    return SL_OK;
}

static sl_status parse_percent(sl_jj_render *r, sl_jj_value fmt, size_t *i, percent_args *a, spec *s, sl_jj_value *arg)
{
    const char *p = fmt.u.s;
    bool named = false;
    if (*i < fmt.len && p[*i] == '%') {
        s->type = p[(*i)++];
        return SL_OK;
    }
    if (*i < fmt.len && p[*i] == '(') {
        const size_t start = *i + 1;
        size_t end = start;
        int depth = 1;
        for (; end < fmt.len && depth > 0; end++)
            depth += p[end] == '(' ? 1 : p[end] == ')' ? -1 : 0;
        if (depth > 0)
            return bad_format(r, "incomplete format key");
        const sl_jj_value *found = NULL;
        if (a->all.kind == SL_JJ_UNDEFINED)
            return sl_jj_fail_undefined(r, a->all);
        if (a->all.kind != SL_JJ_DICT)
            return bad_format(r, "a name, but the argument is no dict,");
        TRY(sl_jj_dict_get(r, a->all.u.dict, sl_jj_str(p + start, end - 1 - start), &found));
        if (!found)
            return bad_format(r, "a name that the dict lacks");
        *arg = *found;
        a->by_name = named = true;
        *i = end;
    }
    for (; *i < fmt.len && one_of("-+ #0", p[*i]); (*i)++) {
        s->left |= p[*i] == '-';
        s->plus |= p[*i] == '+';
        s->space |= p[*i] == ' ';
        s->alt |= p[*i] == '#';
        s->zero |= p[*i] == '0';
    }
    TRY(parse_star_or_int(r, fmt, i, a, &s->has_width, &s->width));
    if (s->width < 0) {
        s->left = true;
        s->width = s->width > -MAX_WIDTH ? -s->width : MAX_WIDTH;
    }
    if (*i < fmt.len && p[*i] == '.') {
        (*i)++;
        s->has_precision = true;
        TRY(parse_star_or_int(r, fmt, i, a, &s->has_precision, &s->precision));
        s->precision = SL_MAX(s->precision, (int64_t)0);
    }
    if (s->width > MAX_WIDTH || s->precision > MAX_WIDTH)
        return bad_format(r, "a width or precision too large");
    while (*i < fmt.len && one_of("hlL", p[*i]))
        (*i)++;
    if (*i >= fmt.len)
        return bad_format(r, "incomplete format");
    s->type = p[(*i)++];
    if (s->type == '%')
        return bad_format(r, "options for a percent sign");
    if (!named)
        TRY(next_arg(r, a, arg));
    return SL_OK;
}

static sl_status percent_number(sl_jj_render *r, sl_jj_buf *b, spec *s, sl_jj_value v)
{
    if (v.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, v);
    s->internal = s->zero && !s->left;
    s->fill = s->internal ? '0' : ' ';
    if (s->precision > MAX_PRECISION)
        return bad_format(r, "a precision too large");
    if (one_of("eEfFgG", s->type)) {
        if (!sl_jj_is_number(v))
            return bad_format(r, "a float is required");
        return put_float(r, b, s, v.kind == SL_JJ_FLOAT ? v.u.f : (double)sl_jj_integral(v));
    }
    if (v.kind == SL_JJ_FLOAT && one_of("diu", s->type)) {
        if (!isfinite(v.u.f))
            return bad_format(r, "an infinite number as an integer");
        if (!(v.u.f > -0x1p63 && v.u.f < 0x1p63))
            return put_whole(r, b, s, v.u.f);
        v = sl_jj_int((int64_t)v.u.f);
    }
    if (!sl_jj_is_integral(v))
        return bad_format(r, "an integer is required");
    return put_int(r, b, s, sl_jj_integral(v));
}

static sl_status percent_char(sl_jj_render *r, sl_jj_buf *b, const spec *s, sl_jj_value v)
{
    char text[4] = "";
    if (v.kind == SL_JJ_STR && sl_jj_utf8_count(v.u.s, v.len) == 1)
        return put_padded(r, b, s, "", v.u.s, v.len);
    const int64_t c = sl_jj_is_integral(v) ? sl_jj_integral(v) : -1;
    if (c < 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return bad_format(r, "%c wants a character");
    return put_padded(r, b, s, "", text, sl_jj_utf8_put(text, (uint32_t)c));
}

/* What is not ASCII, as escapes. */
static sl_status to_ascii(sl_jj_render *r, sl_jj_value v, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    for (size_t i = 0, w = 0; i < v.len; i += w) {
        char text[16] = "";
        const uint32_t c = sl_jj_utf8_get(v.u.s + i, &w);
        if (c < 0x80)
            snprintf(text, sizeof text, "%c", (int)c);
        else
            snprintf(text, sizeof text, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
        TRY(sl_jj_buf_puts(r, &b, text));
    }
    *out = sl_jj_buf_value(&b);
    return SL_OK;
}

static sl_status percent_field(sl_jj_render *r, sl_jj_buf *b, spec *s, sl_jj_value v, bool escape)
{
    sl_jj_buf text = { 0 };
    sl_jj_value shown = { 0 };
    switch (s->type) {
    case '%':
        return sl_jj_buf_puts(r, b, "%");
    case 's':
        TRY(escape ? sl_jj_escape(r, v, &shown) : sl_jj_to_str(r, v, &shown));
        return put_text(r, b, s, shown);
    case 'a':
    case 'r':
        TRY(sl_jj_repr(r, &text, v));
        shown = sl_jj_buf_value(&text);
        if (s->type == 'a')
            TRY(to_ascii(r, shown, &shown));
        if (escape)
            TRY(sl_jj_escape(r, shown, &shown));
        return put_text(r, b, s, shown);
    case 'c':
        return percent_char(r, b, s, v);
    default:
        if (!one_of("diuxXoeEfFgG", s->type))
            return bad_format(r, "an unknown format character");
        return percent_number(r, b, s, v);
    }
}

sl_status sl_jj_percent(sl_jj_render *r, sl_jj_value fmt, sl_jj_value args, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    percent_args a = { .all = args };
    for (size_t i = 0; i < fmt.len;) {
        const char *mark = memchr(fmt.u.s + i, '%', fmt.len - i);
        const size_t end = mark ? (size_t)(mark - fmt.u.s) : fmt.len;
        TRY(sl_jj_buf_add(r, &b, fmt.u.s + i, end - i));
        i = end;
        if (!mark)
            break;
        spec s = { 0 };
        sl_jj_value arg = { 0 };
        i++;
        TRY(parse_percent(r, fmt, &i, &a, &s, &arg));
        TRY(percent_field(r, &b, &s, arg, fmt.flag));
    }
    const bool many = args.kind == SL_JJ_TUPLE
                          ? a.used < args.u.seq->n
                          : a.used == 0 && !a.by_name && args.kind != SL_JJ_DICT && args.kind != SL_JJ_LIST &&
                                args.kind != SL_JJ_RANGE && args.kind != SL_JJ_UNDEFINED;
    if (many)
        return bad_format(r, "not all arguments converted");
    *out = sl_jj_buf_value(&b);
    out->flag = fmt.flag;
    return SL_OK;
}

/* [[fill]align][sign][#][0][width][,][.precision][type] */
static sl_status parse_spec(sl_jj_render *r, sl_jj_value text, spec *s, char *align)
{
    const char *p = text.u.s, *end = text.u.s + text.len;
    size_t w = 0;
    if (p < end) {
        const uint32_t c = sl_jj_utf8_get(p, &w);
        if (p + w < end && one_of("<>=^", p[w])) {
            s->fill = c;
            *align = p[w];
            p += w + 1;
        } else if (one_of("<>=^", *p)) {
            *align = *p++;
        }
    }
    if (p < end && one_of("+- ", *p)) {
        s->plus = *p == '+';
        s->minus = *p == '-';
        s->space = *p == ' ';
        p++;
    }
    if (p < end && *p == 'z') {
        s->no_minus_zero = true;
        p++;
    }
    if (p < end && *p == '#') {
        s->alt = true;
        p++;
    }
    if (p < end && *p == '0') {
        s->zero = true;
        p++;
    }
    for (; p < end && *p >= '0' && *p <= '9' && s->width <= MAX_WIDTH; p++) {
        s->has_width = true;
        s->width = s->width * 10 + (*p - '0');
    }
    if (p < end && (*p == ',' || *p == '_'))
        s->group = *p++;
    if (p < end && s->group && (*p == ',' || *p == '_'))
        return bad_format(r, "two kinds of separators");
    if (p < end && *p == '.') {
        s->has_precision = true;
        if (++p == end || *p < '0' || *p > '9')
            return bad_format(r, "a precision that is missing");
        for (; p < end && *p >= '0' && *p <= '9' && s->precision <= MAX_WIDTH; p++)
            s->precision = s->precision * 10 + (*p - '0');
    }
    if (p < end)
        s->type = *p++;
    if (p < end)
        return bad_format(r, "an invalid format specifier");
    if (s->width > MAX_WIDTH || s->precision > MAX_WIDTH)
        return bad_format(r, "a width or precision too large");
    return SL_OK;
}

static void set_align(spec *s, char align, bool number)
{
    if (s->zero && !s->fill)
        s->fill = '0';
    if (!align)
        align = s->zero && number ? '=' : number ? '>' : '<';
    s->left = align == '<';
    s->center = align == '^';
    s->internal = align == '=';
    if (s->internal && !s->fill)
        s->fill = ' ';
}

/* A float with a precision and no type: as g, but with a digit behind the point at least, and so
 * one digit fewer in front of it.
 * Source: CPython's format_float_short, Py_DTSF_ADD_DOT_0. */
static sl_status put_short(sl_jj_render *r, sl_jj_buf *b, const spec *s, double f)
{
    char text[2 * MAX_PRECISION + 32] = "";
    const int digits = s->precision > 0 ? (int)s->precision : 1;
    int exponent = 0;
    if (isfinite(f)) {
        snprintf(text, sizeof text, "%.*e", digits - 1, fabs(f));
        exponent = atoi(strchr(text, 'e') + 1);
        if (exponent < -4 || exponent >= digits - 1) {
            char *e = strchr(text, 'e'), *end = e;
            while (strchr(text, '.') < e && strchr(text, '.') && end[-1] == '0')
                end--;
            end -= end[-1] == '.';
            memmove(end, e, strlen(e) + 1);
        } else {
            const int n = snprintf(text, sizeof text, "%.*f", digits - 1 - exponent, fabs(f));
            char *end = text + n;
            while (end[-1] == '0' && end[-2] != '.')
                *--end = '\0';
        }
    } else {
        snprintf(text, sizeof text, "%s", isnan(f) ? "nan" : "inf");
    }
    return put_padded(r, b, s, sign_of_float(s, f, text), text, strlen(text));
}

static sl_status format_number(sl_jj_render *r, sl_jj_buf *b, spec *s, sl_jj_value v)
{
    if (s->precision > MAX_PRECISION)
        return bad_format(r, "a precision too large");
    if (v.kind != SL_JJ_FLOAT && (!s->type || one_of("dxXobn", s->type))) {
        if (s->has_precision)
            return bad_format(r, "a precision for an integer");
        if (s->group && s->type && s->type != 'd' && (s->group == ',' || s->type == 'n'))
            return bad_format(r, "a separator for this type");
        if (s->no_minus_zero)
            return bad_format(r, "the option z for an integer");
        return put_int(r, b, s, sl_jj_integral(v));
    }
    if (v.kind != SL_JJ_FLOAT && s->type == 'c')
        return percent_char(r, b, s, v);
    const double f = v.kind == SL_JJ_FLOAT ? v.u.f : (double)sl_jj_integral(v);
    if (s->type == '\0' && !s->has_precision) {
        char text[48] = "";
        const size_t n = sl_jj_float_text(text, fabs(f));
        text[n] = '\0';
        char *e = s->alt && !strchr(text, '.') ? strchr(text, 'e') : NULL;
        if (e) { /* # wants a point */
            memmove(e + 1, e, strlen(e) + 1);
            *e = '.';
        }
        return put_padded(r, b, s, sign_of_float(s, f, text), text, strlen(text));
    }
    if (s->type == '\0' && s->alt)
        return sl_jj_fail(r, SL_EUNSUPPORTED, "# with a precision and no type in a format string");
    if (s->type == '\0')
        return put_short(r, b, s, f);
    if (s->type == 'n' && s->group)
        return bad_format(r, "a separator for this type");
    if (s->type == 'n') /* the locale's, which is C */
        s->type = 'g';
    if (!one_of("eEfFgG%", s->type))
        return bad_format(r, "an unknown format code");
    return put_float(r, b, s, f);
}

static sl_status format_value(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v, sl_jj_value text)
{
    spec s = { 0 };
    char align = '\0';
    TRY(parse_spec(r, text, &s, &align));
    if (sl_jj_is_number(v) && !(v.kind == SL_JJ_BOOL && text.len == 0)) {
        set_align(&s, align, true);
        return format_number(r, b, &s, v);
    }
    if (v.kind != SL_JJ_STR && text.len > 0)
        return bad_format(r, "a format specifier for this type");
    if (align == '=' || s.plus || s.minus || s.space || s.group || s.alt || s.no_minus_zero ||
        (s.type && s.type != 's'))
        return bad_format(r, "a specifier that is not for strings");
    set_align(&s, align, false);
    TRY(sl_jj_to_str(r, v, &v));
    return put_text(r, b, &s, v);
}

typedef struct field_args {
    const sl_jj_call *call;
    size_t next; /* of automatic numbering */
    bool automatic, manual;
} field_args;

/* The argument that a field's first name or number means. */
static sl_status field_first(sl_jj_render *r, field_args *a, sl_jj_value name, sl_jj_value *out)
{
    int64_t i = 0;
    bool over = false, digits = true;
    for (size_t k = 0; k < name.len; k++)
        digits &= name.u.s[k] >= '0' && name.u.s[k] <= '9';
    if (name.len == 0 || digits) {
        a->automatic |= name.len == 0;
        a->manual |= name.len > 0;
        if (a->automatic && a->manual)
            return bad_format(r, "both automatic and manual numbering");
        if (name.len == 0)
            i = (int64_t)a->next++;
        else if (!sl_jj_parse_int(name.u.s, name.len, 10, &i, &over) || over)
            return bad_format(r, "a number too large");
        if (i >= (int64_t)a->call->n_pos)
            return bad_format(r, "not enough arguments");
        *out = a->call->pos[i];
        return SL_OK;
    }
    for (size_t k = 0; k < a->call->n_kw; k++)
        if (a->call->kw[k].key.len == name.len && memcmp(a->call->kw[k].key.u.s, name.u.s, name.len) == 0) {
            *out = a->call->kw[k].value;
            return SL_OK;
        }
    return bad_format(r, "a name that was not given");
}

/* name.attr[index]... */
static sl_status field_value(sl_jj_render *r, field_args *a, sl_jj_value name, sl_jj_value *out)
{
    const char *p = name.u.s, *end = name.u.s + name.len;
    const char *stop = p;
    while (stop < end && *stop != '.' && *stop != '[')
        stop++;
    TRY(field_first(r, a, sl_jj_str(p, (size_t)(stop - p)), out));
    for (p = stop; p < end; p = stop) {
        const bool index = *p == '[';
        stop = ++p;
        while (stop < end && (index ? *stop != ']' : *stop != '.' && *stop != '['))
            stop++;
        sl_jj_value part = sl_jj_str(p, (size_t)(stop - p));
        if (part.len == 0 || (index && stop == end))
            return bad_format(r, "an empty or open attribute");
        int64_t i = 0;
        bool over = false;
        if (index && part.u.s[0] >= '0' && part.u.s[0] <= '9' && sl_jj_parse_int(part.u.s, part.len, 10, &i, &over))
            part = sl_jj_int(i);
        TRY(index ? sl_jj_item(r, *out, part, out) : sl_jj_attr(r, *out, part, out));
        stop += index;
        if (index && stop < end && *stop != '.' && *stop != '[')
            return bad_format(r, "text behind a ]");
    }
    return SL_OK;
}

/* `depth`: 1 inside of a specifier */
static sl_status format_text(sl_jj_render *r, sl_jj_buf *b, field_args *a, sl_jj_value self, int depth);

static sl_status format_field(sl_jj_render *r, sl_jj_buf *b, field_args *a, sl_jj_value field, int depth)
{
    const char *colon = memchr(field.u.s, ':', field.len);
    const char *bang = memchr(field.u.s, '!', field.len);
    if (bang && colon && bang > colon)
        bang = NULL;
    const char *end = field.u.s + field.len, *name_end = bang ? bang : colon ? colon : end;
    sl_jj_value v = { 0 };
    sl_jj_value text = sl_jj_str(colon ? colon + 1 : end, colon ? (size_t)(end - colon - 1) : 0);
    TRY(field_value(r, a, sl_jj_str(field.u.s, (size_t)(name_end - field.u.s)), &v));
    if (bang) {
        const char conversion = bang + 1 < end ? bang[1] : '\0';
        sl_jj_buf repr = { 0 };
        if (bang + 2 != (colon ? colon : end) || !one_of("rs", conversion))
            return bad_format(r, "an unknown conversion");
        TRY(conversion == 'r' ? sl_jj_repr(r, &repr, v) : sl_jj_print(r, &repr, v));
        v = sl_jj_buf_value(&repr);
    }
    sl_jj_buf spec_text = { 0 };
    TRY(format_text(r, &spec_text, a, text, depth + 1)); /* fields may stand in a specifier, once */
    return format_value(r, b, v, sl_jj_buf_value(&spec_text));
}

static sl_status format_text(sl_jj_render *r, sl_jj_buf *b, field_args *a, sl_jj_value self, int depth)
{
    if (depth > 1 && memchr(self.u.s, '{', self.len))
        return bad_format(r, "a field in a field in a field");
    for (size_t i = 0; i < self.len;) {
        const char c = self.u.s[i];
        if ((c == '{' || c == '}') && i + 1 < self.len && self.u.s[i + 1] == c) {
            TRY(sl_jj_buf_add(r, b, &c, 1));
            i += 2;
        } else if (c == '{') {
            size_t end = i + 1;
            int open = 1;
            for (; end < self.len && open > 0; end++)
                open += self.u.s[end] == '{' ? 1 : self.u.s[end] == '}' ? -1 : 0;
            if (open > 0)
                return bad_format(r, "a { without its }");
            TRY(format_field(r, b, a, sl_jj_str(self.u.s + i + 1, end - i - 2), depth));
            i = end;
        } else if (c == '}') {
            return bad_format(r, "a single }");
        } else {
            TRY(sl_jj_buf_add(r, b, &c, 1));
            i++;
        }
    }
    return SL_OK;
}

sl_status sl_jj_str_format(sl_jj_render *r, sl_jj_value self, const sl_jj_call *call, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    field_args a = { .call = call };
    if (self.flag)
        return sl_jj_fail(r, SL_EUNSUPPORTED, "format of Markup");
    TRY(format_text(r, &b, &a, self, 0));
    *out = sl_jj_buf_value(&b);
    return SL_OK;
}

sl_status sl_jj_str_format_map(sl_jj_render *r, sl_jj_value self, const sl_jj_value *arg, sl_jj_value *out)
{
    sl_jj_pair *named = NULL;
    size_t n = 0;
    const sl_jj_dict *d = arg[0].kind == SL_JJ_DICT ? arg[0].u.dict : NULL;
    if (!d && memchr(self.u.s, '{', self.len))
        return sl_jj_fail(r, SL_EUNSUPPORTED, "format_map with a '%s'", sl_jj_type_name(arg[0]));
    TRY(sl_jj_alloc(r, d ? d->n : 0, sizeof *named, &named));
    for (size_t i = 0; d && i < d->n; i++)
        if (d->pairs[i].key.kind == SL_JJ_STR)
            named[n++] = d->pairs[i];
    return sl_jj_str_format(r, self, &(sl_jj_call){ .kw = named, .n_kw = n }, out);
}
