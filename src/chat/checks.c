/* checks.c - Jinja's tests: what may follow `is`. */
#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/str_case_in.h"

#define TRY SL_JJ_TRY

typedef const sl_jj_value *args;

static sl_status yes(sl_jj_value *out, bool b)
{
    *out = sl_jj_bool(b);
    return SL_OK;
}

/* Tests of the kind alone. */
#define SL_JJ_KIND_TEST(name, condition)                                                                               \
    static sl_status name(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)                                  \
    {                                                                                                                  \
        (void)r;                                                                                                       \
        (void)arg;                                                                                                     \
        return yes(out, condition);                                                                                    \
    }
SL_JJ_KIND_TEST(is_defined, v.kind != SL_JJ_UNDEFINED)
SL_JJ_KIND_TEST(is_undefined, v.kind == SL_JJ_UNDEFINED)
SL_JJ_KIND_TEST(is_none, v.kind == SL_JJ_NONE)
SL_JJ_KIND_TEST(is_boolean, v.kind == SL_JJ_BOOL)
SL_JJ_KIND_TEST(is_true, v.kind == SL_JJ_BOOL && v.u.b)
SL_JJ_KIND_TEST(is_false, v.kind == SL_JJ_BOOL && !v.u.b)
SL_JJ_KIND_TEST(is_integer, v.kind == SL_JJ_INT)
SL_JJ_KIND_TEST(is_float, v.kind == SL_JJ_FLOAT)
SL_JJ_KIND_TEST(is_number, sl_jj_is_number(v))
SL_JJ_KIND_TEST(is_string, v.kind == SL_JJ_STR)
SL_JJ_KIND_TEST(is_mapping, v.kind == SL_JJ_DICT)
SL_JJ_KIND_TEST(is_iterable, sl_jj_iterable(v))
SL_JJ_KIND_TEST(is_escaped, v.kind == SL_JJ_STR && v.flag)
/* Python probes for len() and []; undefined values have both. */
SL_JJ_KIND_TEST(is_sequence, v.kind == SL_JJ_STR || v.kind == SL_JJ_LIST || v.kind == SL_JJ_TUPLE ||
                                 v.kind == SL_JJ_DICT || v.kind == SL_JJ_RANGE || v.kind == SL_JJ_UNDEFINED)
/* The class of undefined values has __call__, too. */
SL_JJ_KIND_TEST(is_callable, v.kind == SL_JJ_MACRO || v.kind == SL_JJ_METHOD || v.kind == SL_JJ_FUNC ||
                                 v.kind == SL_JJ_LOOP || v.kind == SL_JJ_JOINER || v.kind == SL_JJ_UNDEFINED)
#undef SL_JJ_KIND_TEST

/* Is there a filter or test of that name? Python looks it up in a dict, hence the hash. */
static sl_status is_name(sl_jj_render *r, sl_jj_value v, const sl_jj_builtin *(*find)(const char *, size_t),
                         sl_jj_value *out)
{
    if (!sl_jj_hashable(v))
        return sl_jj_fail(r, SL_EFORMAT, "unhashable type: '%s'", sl_jj_type_name(v));
    return yes(out, v.kind == SL_JJ_STR && find(v.u.s, v.len) != NULL);
}
static sl_status is_filter(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    return is_name(r, v, sl_jj_filter_find, out);
}
static sl_status is_test(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    return is_name(r, v, sl_jj_test_find, out);
}

static sl_status remainder_is(sl_jj_render *r, sl_jj_value v, sl_jj_value by, int64_t want, sl_jj_value *out)
{
    sl_jj_value rest = { 0 };
    bool same = false;
    TRY(sl_jj_binary(r, SL_JJ_MOD, v, by, &rest));
    TRY(sl_jj_equal(r, rest, sl_jj_int(want), &same));
    return yes(out, same);
}

static sl_status is_odd(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    return remainder_is(r, v, sl_jj_int(2), 1, out);
}
static sl_status is_even(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    return remainder_is(r, v, sl_jj_int(2), 0, out);
}
static sl_status is_divisibleby(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    return remainder_is(r, v, arg[0], 0, out);
}

static sl_status is_case(sl_jj_render *r, sl_jj_value v, sl_jj_case which, sl_jj_value *out)
{
    TRY(sl_jj_to_str(r, v, &v));
    TRY(sl_jj_step(r, v.len / 8));
    return yes(out, sl_jj_str_is_case(v, which));
}
static sl_status is_lower(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    return is_case(r, v, SL_JJ_LOWER, out);
}
static sl_status is_upper(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    return is_case(r, v, SL_JJ_UPPER, out);
}

/* Identity. Equal small values of one kind count as the same object. */
static sl_status is_sameas(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    const sl_jj_value w = arg[0];
    bool same = v.kind == w.kind;
    if (same && v.kind >= SL_JJ_LIST && v.kind != SL_JJ_METHOD)
        return yes(out, v.u.ptr == w.u.ptr);
    if (same)
        TRY(sl_jj_equal(r, v, w, &same));
    return yes(out, same);
}

static sl_status is_in(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    bool in = false;
    TRY(sl_jj_contains(r, arg[0], v, &in));
    return yes(out, in);
}

#define SL_JJ_ORDER_TEST(name, op)                                                                                     \
    static sl_status name(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)                                  \
    {                                                                                                                  \
        bool holds = false;                                                                                            \
        TRY(sl_jj_compare(r, op, v, arg[0], &holds));                                                                  \
        return yes(out, holds);                                                                                        \
    }
SL_JJ_ORDER_TEST(is_eq, SL_JJ_EQ)
SL_JJ_ORDER_TEST(is_ne, SL_JJ_NE)
SL_JJ_ORDER_TEST(is_lt, SL_JJ_LT)
SL_JJ_ORDER_TEST(is_le, SL_JJ_LE)
SL_JJ_ORDER_TEST(is_gt, SL_JJ_GT)
SL_JJ_ORDER_TEST(is_ge, SL_JJ_GE)
#undef SL_JJ_ORDER_TEST

static const sl_jj_builtin table[] = {
    { "defined", is_defined, { "", 0 }, NULL },
    { "undefined", is_undefined, { "", 0 }, NULL },
    { "none", is_none, { "", 0 }, NULL },
    { "boolean", is_boolean, { "", 0 }, NULL },
    { "true", is_true, { "", 0 }, NULL },
    { "false", is_false, { "", 0 }, NULL },
    { "integer", is_integer, { "", 0 }, NULL },
    { "float", is_float, { "", 0 }, NULL },
    { "number", is_number, { "", 0 }, NULL },
    { "string", is_string, { "", 0 }, NULL },
    { "mapping", is_mapping, { "", 0 }, NULL },
    { "iterable", is_iterable, { "", 0 }, NULL },
    { "sequence", is_sequence, { "", 0 }, NULL },
    { "callable", is_callable, { "", 0 }, NULL },
    { "escaped", is_escaped, { "", 0 }, NULL },
    { "filter", is_filter, { "", 0 }, NULL },
    { "test", is_test, { "", 0 }, NULL },
    { "odd", is_odd, { "", 0 }, NULL },
    { "even", is_even, { "", 0 }, NULL },
    { "divisibleby", is_divisibleby, { "num", 1 }, NULL },
    { "lower", is_lower, { "", 0 }, NULL },
    { "upper", is_upper, { "", 0 }, NULL },
    { "sameas", is_sameas, { "other", 1 }, NULL },
    { "in", is_in, { "seq", 1 }, NULL },
    { "==", is_eq, { "b,/", 1 }, NULL },
    { "eq", is_eq, { "b,/", 1 }, NULL },
    { "equalto", is_eq, { "b,/", 1 }, NULL },
    { "!=", is_ne, { "b,/", 1 }, NULL },
    { "ne", is_ne, { "b,/", 1 }, NULL },
    { "<", is_lt, { "b,/", 1 }, NULL },
    { "lt", is_lt, { "b,/", 1 }, NULL },
    { "lessthan", is_lt, { "b,/", 1 }, NULL },
    { "<=", is_le, { "b,/", 1 }, NULL },
    { "le", is_le, { "b,/", 1 }, NULL },
    { ">", is_gt, { "b,/", 1 }, NULL },
    { "gt", is_gt, { "b,/", 1 }, NULL },
    { "greaterthan", is_gt, { "b,/", 1 }, NULL },
    { ">=", is_ge, { "b,/", 1 }, NULL },
    { "ge", is_ge, { "b,/", 1 }, NULL },
};

const sl_jj_builtin *sl_jj_test_find(const char *name, size_t len)
{
    return sl_jj_table_find(table, SL_COUNT(table), name, len);
}
