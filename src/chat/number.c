/* number.c - text to numbers, and the filters on numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY        SL_JJ_TRY
#define MAX_DIGITS 400u /* of a float's text: more than a double can tell apart */

static void strip_spaces(const char **s, size_t *n)
{
    size_t w = 0;
    while (*n > 0 && sl_jj_is_space(sl_jj_utf8_get(*s, &w))) {
        *s += w;
        *n -= w;
    }
    while (*n > 0) {
        const size_t last = sl_jj_utf8_last(*s, *n);
        if (!sl_jj_is_space(sl_jj_utf8_get(*s + *n - last, &w)))
            break;
        *n -= last;
    }
}

static int digit_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                  : 99;
}

/* 0x, 0o, 0b in front, where the base allows it. An underscore may follow. */
static int take_prefix(const char **s, size_t *n, int base)
{
    const char c = *n >= 2 && (*s)[0] == '0' ? (*s)[1] | 0x20 : '\0';
    const int named = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
    if (!named || (base != 0 && base != named))
        return base == 0 ? 10 : base;
    *s += 2;
    *n -= 2;
    if (*n > 1 && **s == '_') {
        (*s)++;
        (*n)--;
    }
    return named;
}

bool sl_jj_parse_int(const char *s, size_t n, int base, int64_t *out, bool *overflow)
{
    strip_spaces(&s, &n);
    const bool negative = n > 0 && s[0] == '-';
    if (n > 0 && (s[0] == '-' || s[0] == '+')) {
        s++;
        n--;
    }
    const bool guess = base == 0;
    const bool leading_zero = n > 1 && s[0] == '0';
    base = take_prefix(&s, &n, base);
    int64_t v = 0;
    bool over = false, nonzero = false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '_' && i > 0 && i + 1 < n && s[i - 1] != '_')
            continue;
        const int d = digit_value(s[i]);
        if (d >= base)
            return false;
        nonzero |= d != 0;
        over |= __builtin_mul_overflow(v, (int64_t)base, &v);
        over |= negative ? __builtin_sub_overflow(v, (int64_t)d, &v) : __builtin_add_overflow(v, (int64_t)d, &v);
    }
    if (n == 0 || (guess && base == 10 && leading_zero && nonzero))
        return false;
    *out = v;
    *overflow = over;
    return true;
}

static bool is_word(const char *s, size_t n, const char *word)
{
    return n == strlen(word) && strncasecmp(s, word, n) == 0;
}

bool sl_jj_parse_float(const char *s, size_t n, double *out)
{
    char text[MAX_DIGITS] = "";
    size_t len = 0;
    bool digits = false, exponent = false, point = false;
    strip_spaces(&s, &n);
    const bool negative = n > 0 && s[0] == '-';
    if (n > 0 && (s[0] == '-' || s[0] == '+')) {
        s++;
        n--;
    }
    if (is_word(s, n, "inf") || is_word(s, n, "infinity") || is_word(s, n, "nan")) {
        *out = (s[0] | 0x20) == 'n' ? NAN : negative ? -INFINITY : INFINITY;
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        const char c = s[i];
        const bool is_digit = c >= '0' && c <= '9';
        if (c == '_') {
            if (i == 0 || i + 1 == n || s[i - 1] < '0' || s[i - 1] > '9' || s[i + 1] < '0' || s[i + 1] > '9')
                return false;
            continue;
        }
        if (!is_digit) {
            const bool ok_point = c == '.' && !point && !exponent;
            const bool ok_exponent = (c == 'e' || c == 'E') && digits && !exponent;
            const bool ok_sign = (c == '+' || c == '-') && exponent && (s[i - 1] | 0x20) == 'e';
            if (!ok_point && !ok_exponent && !ok_sign)
                return false;
            point |= ok_point;
            exponent |= ok_exponent;
        }
        digits |= is_digit;
        if (len + 1 >= sizeof text)
            return false;
        text[len++] = c;
    }
    if (!digits || text[len - 1] == 'e' || text[len - 1] == 'E' || text[len - 1] == '+' || text[len - 1] == '-')
        return false;
    *out = strtod(text, NULL);
    *out = negative ? -*out : *out;
    return true;
}

/* int(f) of Python; false where it raises OverflowError or ValueError. */
static bool float_to_int(double f, int64_t *out, bool *overflow)
{
    if (!isfinite(f))
        return false;
    *overflow = !(f >= -0x1p63 && f < 0x1p63);
    *out = *overflow ? 0 : (int64_t)f;
    return true;
}

static sl_status filter_int(sl_jj_render *r, sl_jj_value v, const sl_jj_value *arg, sl_jj_value *out)
{
    int64_t base = 10, i = 0;
    bool over = false, ok = false;
    double f = 0;
    TRY(sl_jj_arg_int(r, arg[1], 10, &base));
    *out = arg[0].kind == SL_JJ_MISSING ? sl_jj_int(0) : arg[0];
    if (v.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, v);
    if (sl_jj_is_integral(v)) {
        i = sl_jj_integral(v);
        ok = true;
    } else if (v.kind == SL_JJ_FLOAT) {
        if (isinf(v.u.f))
            return sl_jj_fail(r, SL_EFORMAT, "cannot convert float infinity to integer");
        ok = float_to_int(v.u.f, &i, &over);
    } else if (v.kind == SL_JJ_STR) {
        if (base != 0 && (base < 2 || base > 36))
            ok = false;
        else
            ok = sl_jj_parse_int(v.u.s, v.len, (int)base, &i, &over);
        if (!ok && sl_jj_parse_float(v.u.s, v.len, &f))
            ok = float_to_int(f, &i, &over);
    }
    if (ok && over)
        return sl_jj_fail(r, SL_EUNSUPPORTED, "an integer beyond 64 bits");
    if (ok)
        *out = sl_jj_int(i);
    return SL_OK;
}

static sl_status filter_float(sl_jj_render *r, sl_jj_value v, const sl_jj_value *arg, sl_jj_value *out)
{
    double f = 0;
    *out = arg[0].kind == SL_JJ_MISSING ? sl_jj_float(0) : arg[0];
    if (v.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, v);
    if (v.kind == SL_JJ_FLOAT)
        *out = v;
    else if (sl_jj_is_integral(v))
        *out = sl_jj_float((double)sl_jj_integral(v));
    else if (v.kind == SL_JJ_STR && sl_jj_parse_float(v.u.s, v.len, &f))
        *out = sl_jj_float(f);
    return SL_OK;
}

static sl_status filter_abs(sl_jj_render *r, sl_jj_value v, const sl_jj_value *arg, sl_jj_value *out)
{
    (void)arg;
    if (v.kind == SL_JJ_FLOAT)
        *out = sl_jj_float(fabs(v.u.f));
    else if (sl_jj_is_integral(v) && sl_jj_integral(v) == INT64_MIN)
        return sl_jj_fail(r, SL_EUNSUPPORTED, "an integer beyond 64 bits");
    else if (sl_jj_is_integral(v))
        *out = sl_jj_int(llabs(sl_jj_integral(v)));
    else if (v.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, v);
    else
        return sl_jj_fail(r, SL_EFORMAT, "bad operand type for abs(): '%s'", sl_jj_type_name(v));
    return SL_OK;
}

/* round(f, digits) of Python: the exact decimal value of f, ties to even. */
static double round_decimal(double f, int64_t digits)
{
    char text[800] = "";
    if (!isfinite(f) || digits > 400)
        return f;
    if (digits >= 0) {
        snprintf(text, sizeof text, "%.*f", (int)digits, f);
        return strtod(text, NULL);
    }
    if (digits < -310)
        return copysign(0.0, f);
    snprintf(text, sizeof text, "%.0f", f); /* an integer: cut its last digits by the text of it */
    const size_t cut = (size_t)-digits, start = text[0] == '-', n = strlen(text) - start;
    snprintf(text, sizeof text, "%.400f", f);
    if (cut > n)
        return copysign(0.0, f);
    char scaled[832] = "";
    const size_t whole = (size_t)(strchr(text, '.') - text) - start;
    if (cut > whole)
        return copysign(0.0, f);
    /* "12345.678" with cut 2 reads as 123.45678, which %.0f rounds; then the zeros come back. */
    snprintf(scaled, sizeof scaled, "%.*s.%.*s%s", (int)(start + whole - cut), text, (int)cut,
             text + start + whole - cut, text + start + whole + 1);
    if (scaled[start] == '.' && strtod(scaled + start, NULL) <= 0.5)
        return copysign(0.0, f);
    const double q = nearbyint(strtod(scaled, NULL));
    snprintf(text, sizeof text, "%.0fe%d", q, (int)cut);
    return strtod(text, NULL);
}

static sl_status round_int(sl_jj_render *r, int64_t v, int64_t digits, sl_jj_value *out)
{
    int64_t unit = 1;
    for (int64_t i = digits; i < 0; i++)
        if (__builtin_mul_overflow(unit, (int64_t)10, &unit)) {
            *out = sl_jj_int(0);
            return SL_OK;
        }
    int64_t low = v % unit;
    low += low < 0 ? unit : 0; /* v = floor + low */
    int64_t result = v - low;
    const bool up = low > unit - low || (low == unit - low && result / unit % 2 != 0);
    if (up && __builtin_add_overflow(result, unit, &result))
        return sl_jj_fail(r, SL_EUNSUPPORTED, "an integer beyond 64 bits");
    *out = sl_jj_int(result);
    return SL_OK;
}

/* round(f, none) of Python. */
static sl_status round_to_int(sl_jj_render *r, double f, sl_jj_value *out)
{
    int64_t i = 0;
    bool over = false;
    if (!float_to_int(nearbyint(f), &i, &over))
        return sl_jj_fail(r, SL_EFORMAT, "cannot convert float to integer");
    *out = sl_jj_int(i);
    return over ? sl_jj_fail(r, SL_EUNSUPPORTED, "an integer beyond 64 bits") : SL_OK;
}

static sl_status filter_round(sl_jj_render *r, sl_jj_value v, const sl_jj_value *arg, sl_jj_value *out)
{
    int64_t digits = 0;
    const sl_jj_value method = arg[1].kind == SL_JJ_MISSING ? sl_jj_text("common") : arg[1];
    if (arg[0].kind == SL_JJ_NONE && sl_jj_str_is(method, "common") && v.kind == SL_JJ_FLOAT)
        return round_to_int(r, v.u.f, out);
    if (arg[0].kind != SL_JJ_NONE || !sl_jj_is_number(v) || !sl_jj_str_is(method, "common"))
        TRY(sl_jj_arg_int(r, arg[0], 0, &digits));
    if (v.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, v);
    if (!sl_jj_is_number(v))
        return sl_jj_fail(r, SL_EFORMAT, "a '%s' cannot be rounded", sl_jj_type_name(v));
    if (sl_jj_str_is(method, "common")) {
        if (v.kind != SL_JJ_FLOAT)
            return round_int(r, sl_jj_integral(v), digits, out);
        const double f = round_decimal(v.u.f, digits);
        if (isinf(f) && isfinite(v.u.f))
            return sl_jj_fail(r, SL_EFORMAT, "rounded value too large");
        *out = sl_jj_float(f);
        return SL_OK;
    }
    if (!sl_jj_str_is(method, "ceil") && !sl_jj_str_is(method, "floor"))
        return sl_jj_fail(r, SL_EFORMAT, "method must be common, ceil or floor");
    sl_jj_value unit = { 0 }, scaled = { 0 };
    TRY(sl_jj_binary(r, SL_JJ_POW, sl_jj_int(10), sl_jj_int(digits), &unit));
    TRY(sl_jj_binary(r, SL_JJ_MUL, v, unit, &scaled));
    if (scaled.kind == SL_JJ_FLOAT) {
        const double f = sl_jj_str_is(method, "ceil") ? ceil(scaled.u.f) : floor(scaled.u.f);
        int64_t i = 0;
        bool over = false;
        if (!float_to_int(f, &i, &over))
            return sl_jj_fail(r, SL_EFORMAT, "cannot convert float to integer");
        if (over)
            return sl_jj_fail(r, SL_EUNSUPPORTED, "an integer beyond 64 bits");
        scaled = sl_jj_int(i);
    }
    return sl_jj_binary(r, SL_JJ_DIV, scaled, unit, out);
}

static sl_status filesizeformat(sl_jj_render *r, sl_jj_value v, const sl_jj_value *arg, sl_jj_value *out)
{
    static const char prefixes[] = "kMGTPEZY";
    char text[400] = "";
    sl_jj_value size = { 0 };
    const sl_jj_value exact[SL_JJ_MAX_PARAMS] = { { .kind = SL_JJ_NONE } }; /* float(v), which may fail */
    const bool binary = arg[0].kind != SL_JJ_MISSING && sl_jj_truth(arg[0]);
    const double base = binary ? 1024 : 1000;
    TRY(filter_float(r, v, exact, &size));
    if (size.kind != SL_JJ_FLOAT)
        return sl_jj_fail(r, SL_EFORMAT, "could not convert to a float");
    double unit = base;
    size_t i = 0;
    if (size.u.f == 1) {
        snprintf(text, sizeof text, "1 Byte");
    } else if (size.u.f < base) {
        if (isinf(size.u.f))
            return sl_jj_fail(r, SL_EFORMAT, "cannot convert float infinity to integer");
        snprintf(text, sizeof text, "%.0f Bytes", trunc(size.u.f) + 0.0); /* not -0 */
    } else {
        for (unit *= base; i < sizeof prefixes - 2 && !(size.u.f < unit); i++)
            unit *= base;
        const double shown = base * size.u.f / unit;
        if (isfinite(shown))
            snprintf(text, sizeof text, "%.1f %c%sB", shown, prefixes[i] - (binary && i == 0 ? 'k' - 'K' : 0),
                     binary ? "i" : "");
        else
            snprintf(text, sizeof text, "%s %c%sB", isnan(shown) ? "nan" : "inf", prefixes[i], binary ? "i" : "");
    }
    return sl_jj_str_copy(r, text, strlen(text), out);
}

static const sl_jj_builtin table[] = {
    { "int", filter_int, { "default,base", 0 }, NULL },
    { "float", filter_float, { "default", 0 }, NULL },
    { "abs", filter_abs, { "", 0 }, NULL },
    { "round", filter_round, { "precision,method", 0 }, NULL },
    { "filesizeformat", filesizeformat, { "binary", 0 }, NULL },
};

const sl_jj_builtin *sl_jj_number_filter_find(const char *name, size_t len)
{
    return sl_jj_table_find(table, SL_COUNT(table), name, len);
}
