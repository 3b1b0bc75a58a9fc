/* ops.c - operators, with Python's rules: which types go together, floor division, truth of `in`. */
#include <math.h>

#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY SL_JJ_TRY

static const char *const op_text[] = {
    "+", "-", "*", "/", "//", "%", "**", "-", "+", "==", "!=", "<", "<=", ">", ">="
};

static sl_status bad_types(sl_jj_render *r, sl_jj_op op, sl_jj_value a, sl_jj_value b)
{
    if (op == SL_JJ_SUB && a.kind != SL_JJ_UNDEFINED && (a.kind == SL_JJ_VIEW || b.kind == SL_JJ_VIEW))
        return sl_jj_fail(r, SL_EUNSUPPORTED, "sets, and so the difference of views of dicts, are not supported");
    if (a.kind == SL_JJ_UNDEFINED || b.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, a.kind == SL_JJ_UNDEFINED ? a : b);
    return sl_jj_fail(r, SL_EFORMAT, "unsupported operand types for %s: '%s' and '%s'", op_text[op], sl_jj_type_name(a),
                      sl_jj_type_name(b));
}

static sl_status overflow(sl_jj_render *r)
{
    return sl_jj_fail(r, SL_EUNSUPPORTED, "an integer beyond 64 bits");
}

static double as_double(sl_jj_value v)
{
    return v.kind == SL_JJ_FLOAT ? v.u.f : (double)sl_jj_integral(v);
}

static sl_status int_pow(sl_jj_render *r, int64_t base, int64_t exponent, sl_jj_value *out)
{
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return overflow(r);
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
            return overflow(r);
    }
    *out = sl_jj_int(result);
    return SL_OK;
}

static sl_status int_op(sl_jj_render *r, sl_jj_op op, int64_t a, int64_t b, sl_jj_value *out)
{
    int64_t n = 0;
    bool over = false;
    switch (op) {
    case SL_JJ_ADD:
        over = __builtin_add_overflow(a, b, &n);
        break;
    case SL_JJ_SUB:
        over = __builtin_sub_overflow(a, b, &n);
        break;
    case SL_JJ_MUL:
        over = __builtin_mul_overflow(a, b, &n);
        break;
    case SL_JJ_POW:
        return int_pow(r, a, b, out);
    default:
        if (b == -1) { /* the one division that can overflow */
            over = __builtin_sub_overflow((int64_t)0, a, &n);
            n = op == SL_JJ_MOD ? 0 : n;
            over &= op != SL_JJ_MOD;
            break;
        }
        n = op == SL_JJ_MOD ? a % b : a / b;
        if (a % b != 0 && (a % b < 0) != (b < 0)) /* C rounds towards zero, Python down */
            n += op == SL_JJ_MOD ? b : -1;
    }
    *out = sl_jj_int(n);
    return over ? overflow(r) : SL_OK;
}

static double float_mod(double a, double b)
{
    const double m = fmod(a, b);
    if (m == 0)
        return copysign(0.0, b);
    return (m < 0) != (b < 0) ? m + b : m;
}

/* Source: CPython's float_floor_div: the quotient that goes with the rounded modulus. */
static double float_floordiv(double a, double b)
{
    const double m = fmod(a, b);
    double q = (a - m) / b;
    if (m != 0 && (m < 0) != (b < 0))
        q -= 1;
    if (q == 0)
        return copysign(0.0, a / b);
    const double floor_q = floor(q);
    return q - floor_q > 0.5 ? floor_q + 1 : floor_q;
}

static sl_status float_pow(sl_jj_render *r, double a, double b, sl_jj_value *out)
{
    if (a == 0 && b < 0)
        return sl_jj_fail(r, SL_EFORMAT, "0.0 cannot be raised to a negative power");
    if (a < 0 && isfinite(a) && isfinite(b) && floor(b) != b)
        return sl_jj_fail(r, SL_EUNSUPPORTED, "a power that is a complex number");
    const double p = pow(a, b);
    if (isinf(p) && isfinite(a) && isfinite(b))
        return sl_jj_fail(r, SL_EFORMAT, "a number too large");
    *out = sl_jj_float(p);
    return SL_OK;
}

static sl_status number_op(sl_jj_render *r, sl_jj_op op, sl_jj_value a, sl_jj_value b, sl_jj_value *out)
{
    const bool divides = op == SL_JJ_DIV || op == SL_JJ_FLOORDIV || op == SL_JJ_MOD;
    const double x = as_double(a), y = as_double(b);
    if (divides && y == 0)
        return sl_jj_fail(r, SL_EFORMAT, "division by zero");
    if (a.kind != SL_JJ_FLOAT && b.kind != SL_JJ_FLOAT && op != SL_JJ_DIV && !(op == SL_JJ_POW && y < 0))
        return int_op(r, op, sl_jj_integral(a), sl_jj_integral(b), out);
    switch (op) {
    case SL_JJ_ADD:
        *out = sl_jj_float(x + y);
        return SL_OK;
    case SL_JJ_SUB:
        *out = sl_jj_float(x - y);
        return SL_OK;
    case SL_JJ_MUL:
        *out = sl_jj_float(x * y);
        return SL_OK;
    case SL_JJ_DIV: /* of two integers, those beyond 2^53 included, as Python divides them */
        *out = sl_jj_float(a.kind == SL_JJ_FLOAT || b.kind == SL_JJ_FLOAT
                               ? x / y
                               : (double)((long double)sl_jj_integral(a) / (long double)sl_jj_integral(b)));
        return SL_OK;
    case SL_JJ_FLOORDIV:
        *out = sl_jj_float(float_floordiv(x, y));
        return SL_OK;
    case SL_JJ_MOD:
        *out = sl_jj_float(float_mod(x, y));
        return SL_OK;
    default:
        return float_pow(r, x, y, out);
    }
}

static sl_status repeat_seq(sl_jj_render *r, sl_jj_value v, size_t times, sl_jj_value *out)
{
    sl_jj_seq *s = NULL;
    const sl_jj_seq *from = v.u.seq;
    TRY(sl_jj_seq_new(r, 0, &s));
    for (size_t i = 0; from->n > 0 && i < times; i++)
        for (size_t k = 0; k < from->n; k++)
            TRY(sl_jj_seq_push(r, s, from->items[k]));
    *out = sl_jj_seq_value((sl_jj_kind)v.kind, s);
    return SL_OK;
}

static sl_status repeat(sl_jj_render *r, sl_jj_value v, int64_t times, sl_jj_value *out)
{
    const size_t n = times > 0 ? (size_t)times : 0;
    if (v.kind != SL_JJ_STR)
        return repeat_seq(r, v, n, out);
    sl_jj_buf b = { 0 };
    for (size_t i = 0; v.len > 0 && i < n; i++) {
        TRY(sl_jj_step(r, 1));
        TRY(sl_jj_buf_add(r, &b, v.u.s, v.len));
    }
    *out = sl_jj_buf_value(&b);
    out->flag = v.flag;
    return SL_OK;
}

static sl_status add_seqs(sl_jj_render *r, sl_jj_value a, sl_jj_value b, sl_jj_value *out)
{
    const sl_jj_seq *parts[] = { a.u.seq, b.u.seq };
    sl_jj_seq *s = NULL;
    TRY(sl_jj_seq_new(r, a.u.seq->n + b.u.seq->n, &s));
    for (size_t p = 0; p < SL_COUNT(parts); p++)
        for (size_t i = 0; i < parts[p]->n; i++)
            TRY(sl_jj_seq_push(r, s, parts[p]->items[i]));
    *out = sl_jj_seq_value((sl_jj_kind)a.kind, s);
    return SL_OK;
}

static bool repeatable(sl_jj_value v)
{
    return v.kind == SL_JJ_STR || v.kind == SL_JJ_LIST || v.kind == SL_JJ_TUPLE;
}

sl_status sl_jj_binary(sl_jj_render *r, sl_jj_op op, sl_jj_value a, sl_jj_value b, sl_jj_value *out)
{
    if (sl_jj_is_number(a) && sl_jj_is_number(b))
        return number_op(r, op, a, b, out);
    if (op == SL_JJ_ADD && a.kind == SL_JJ_STR && b.kind == SL_JJ_STR) {
        if (a.flag != b.flag) /* text that meets Markup is escaped */
            TRY(sl_jj_escape(r, a.flag ? b : a, a.flag ? &b : &a));
        return sl_jj_str_concat(r, a, b, out);
    }
    if (op == SL_JJ_ADD && a.kind == b.kind && repeatable(a))
        return add_seqs(r, a, b, out);
    if (op == SL_JJ_MUL && repeatable(a) && sl_jj_is_integral(b))
        return repeat(r, a, sl_jj_integral(b), out);
    if (op == SL_JJ_MUL && sl_jj_is_integral(a) && repeatable(b))
        return repeat(r, b, sl_jj_integral(a), out);
    if (op == SL_JJ_MOD && a.kind == SL_JJ_STR)
        return sl_jj_percent(r, a, b, out);
    return bad_types(r, op, a, b);
}

sl_status sl_jj_unary(sl_jj_render *r, sl_jj_op op, sl_jj_value a, sl_jj_value *out)
{
    if (a.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, a);
    if (!sl_jj_is_number(a))
        return sl_jj_fail(r, SL_EFORMAT, "unsupported operand type for unary %s: '%s'", op_text[op],
                          sl_jj_type_name(a));
    if (op == SL_JJ_POS)
        *out = a.kind == SL_JJ_FLOAT ? a : sl_jj_int(sl_jj_integral(a));
    else if (a.kind == SL_JJ_FLOAT)
        *out = sl_jj_float(-a.u.f);
    else
        return int_op(r, SL_JJ_SUB, 0, sl_jj_integral(a), out);
    return SL_OK;
}

static sl_status find_in_seq(sl_jj_render *r, const sl_jj_seq *s, sl_jj_value v, bool *out)
{
    for (size_t i = 0; !*out && i < s->n; i++)
        TRY(sl_jj_equal(r, s->items[i], v, out));
    return SL_OK;
}

static sl_status find_by_walking(sl_jj_render *r, sl_jj_value seq, sl_jj_value v, bool *out)
{
    sl_jj_iter *it = NULL;
    sl_jj_value item = { 0 };
    bool done = false;
    TRY(sl_jj_iter_open(r, seq, &it));
    for (;;) {
        TRY(sl_jj_iter_next(r, it, &item, &done));
        if (done)
            return SL_OK;
        TRY(sl_jj_equal(r, item, v, out));
        if (*out)
            return SL_OK;
    }
}

sl_status sl_jj_contains(sl_jj_render *r, sl_jj_value seq, sl_jj_value v, bool *out)
{
    *out = false;
    switch ((sl_jj_kind)seq.kind) {
    case SL_JJ_STR:
        if (v.kind != SL_JJ_STR)
            return sl_jj_fail(r, SL_EFORMAT, "'in <string>' needs a string on the left, not '%s'", sl_jj_type_name(v));
        TRY(sl_jj_step(r, seq.len / 16));
        *out = v.len == 0 || memmem(seq.u.s, seq.len, v.u.s, v.len) != NULL;
        return SL_OK;
    case SL_JJ_LIST:
    case SL_JJ_TUPLE:
        return find_in_seq(r, seq.u.seq, v, out);
    case SL_JJ_VIEW:
        if (seq.flag != SL_JJ_KEYS)
            return find_by_walking(r, seq, v, out);
        /* fallthrough */
    case SL_JJ_DICT: {
        const sl_jj_value *found = NULL;
        if (!sl_jj_hashable(v))
            return sl_jj_fail(r, SL_EFORMAT, "unhashable type: '%s'", sl_jj_type_name(v));
        TRY(sl_jj_dict_get(r, seq.u.dict, v, &found));
        *out = found != NULL;
        return SL_OK;
    }
    default:
        return find_by_walking(r, seq, v, out);
    }
}

sl_status sl_jj_compare(sl_jj_render *r, sl_jj_op op, sl_jj_value a, sl_jj_value b, bool *out)
{
    int order = 0;
    if (op == SL_JJ_IN || op == SL_JJ_NOT_IN) {
        TRY(sl_jj_contains(r, b, a, out));
        *out = *out == (op == SL_JJ_IN);
        return SL_OK;
    }
    if (op == SL_JJ_EQ || op == SL_JJ_NE) {
        TRY(sl_jj_equal(r, a, b, out));
        *out = *out == (op == SL_JJ_EQ);
        return SL_OK;
    }
    TRY(sl_jj_order(r, a, b, &order));
    *out = op == SL_JJ_LT   ? order == -1
           : op == SL_JJ_LE ? order == -1 || order == 0
           : op == SL_JJ_GT ? order == 1
                            : order == 1 || order == 0;
    return SL_OK;
}

sl_status sl_jj_length(sl_jj_render *r, sl_jj_value v, size_t *out)
{
    switch ((sl_jj_kind)v.kind) {
    case SL_JJ_UNDEFINED:
        *out = 0;
        return SL_OK;
    case SL_JJ_STR:
        TRY(sl_jj_step(r, v.len / 64));
        *out = sl_jj_utf8_count(v.u.s, v.len);
        return SL_OK;
    case SL_JJ_LIST:
    case SL_JJ_TUPLE:
        *out = v.u.seq->n;
        return SL_OK;
    case SL_JJ_DICT:
    case SL_JJ_VIEW:
        *out = v.u.dict->n;
        return SL_OK;
    case SL_JJ_RANGE:
        *out = v.u.range->n;
        return SL_OK;
    case SL_JJ_LOOP: {
        sl_jj_value n = { 0 };
        TRY(sl_jj_loop_attr(r, v.u.loop, sl_jj_text("length"), &n));
        *out = (size_t)n.u.i;
        return SL_OK;
    }
    default:
        return sl_jj_fail(r, SL_EFORMAT, "object of type '%s' has no length", sl_jj_type_name(v));
    }
}
