/* access.c - v.name, v[key] and v[a:b:c], as Jinja's sandbox grants them. */
#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY SL_JJ_TRY

static sl_jj_value missing_attr(sl_jj_value v, sl_jj_value name, bool unsafe)
{
    sl_jj_value u = sl_jj_undefined(name.u.s, name.len);
    u.flag = unsafe ? SL_JJ_UNSAFE : SL_JJ_NO_ATTR;
    u.aux = v.kind;
    return u;
}

/* Methods that would change a list or dict: the sandbox hides them. */
static bool is_mutator(sl_jj_value v, sl_jj_value name)
{
    static const char *const of_list[] = { "append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove" };
    static const char *const of_dict[] = { "clear", "pop", "popitem", "setdefault", "update" };
    const char *const *names = v.kind == SL_JJ_LIST ? of_list : of_dict;
    const size_t n = v.kind == SL_JJ_LIST ? SL_COUNT(of_list) : v.kind == SL_JJ_DICT ? SL_COUNT(of_dict) : 0;
    for (size_t i = 0; i < n; i++)
        if (sl_jj_str_is(name, names[i]))
            return true;
    return false;
}

static sl_status macro_attr(sl_jj_render *r, const sl_jj_macro *m, sl_jj_value name, sl_jj_value *out, bool *found)
{
    *found = true;
    if (sl_jj_str_is(name, "name")) {
        *out = m->node->type == SL_JJ_MACRO_DEF ? m->node->value : sl_jj_none();
    } else if (sl_jj_str_is(name, "arguments")) {
        sl_jj_seq *s = NULL;
        TRY(sl_jj_seq_new(r, m->node->list.n, &s));
        for (size_t i = 0; i < m->node->list.n; i++)
            TRY(sl_jj_seq_push(r, s, m->node->list.node[i]->value));
        *out = sl_jj_seq_value(SL_JJ_TUPLE, s);
    } else if (sl_jj_str_is(name, "catch_kwargs")) {
        *out = sl_jj_bool(m->node->wants_kwargs);
    } else if (sl_jj_str_is(name, "catch_varargs")) {
        *out = sl_jj_bool(m->node->wants_varargs);
    } else if (sl_jj_str_is(name, "caller")) {
        *out = sl_jj_bool(m->node->wants_caller);
    } else {
        *found = false;
    }
    return SL_OK;
}

static bool number_attr(sl_jj_value v, sl_jj_value name, sl_jj_value *out)
{
    const bool is_float = v.kind == SL_JJ_FLOAT;
    if (sl_jj_str_is(name, "real") || (!is_float && sl_jj_str_is(name, "numerator")))
        *out = is_float ? v : sl_jj_int(sl_jj_integral(v));
    else if (sl_jj_str_is(name, "imag"))
        *out = is_float ? sl_jj_float(0) : sl_jj_int(0);
    else if (!is_float && sl_jj_str_is(name, "denominator"))
        *out = sl_jj_int(1);
    else
        return false;
    return true;
}

/* What Python's getattr finds: methods and the few plain attributes. */
static sl_status python_attr(sl_jj_render *r, sl_jj_value v, sl_jj_value name, sl_jj_value *out, bool *found)
{
    *found = false;
    if (v.kind == SL_JJ_LOOP) {
        TRY(sl_jj_loop_attr(r, v.u.loop, name, out));
        *found = out->kind != SL_JJ_MISSING;
        if (*found)
            return SL_OK;
    }
    if (v.kind == SL_JJ_NAMESPACE) {
        const sl_jj_value *value = NULL;
        TRY(sl_jj_dict_get(r, v.u.dict, name, &value));
        *found = value != NULL;
        if (value)
            *out = *value;
        return SL_OK;
    }
    if (v.kind == SL_JJ_MACRO)
        return macro_attr(r, v.u.macro, name, out, found);
    if (sl_jj_is_number(v) && (*found = number_attr(v, name, out)))
        return SL_OK;
    if (v.kind == SL_JJ_TUPLE && v.flag && v.u.seq->n == 2) { /* what groupby makes */
        *found = sl_jj_str_is(name, "grouper") || sl_jj_str_is(name, "list");
        if (*found) {
            *out = v.u.seq->items[sl_jj_str_is(name, "list")];
            return SL_OK;
        }
    }
    if (v.kind == SL_JJ_CYCLER && (*found = sl_jj_str_is(name, "current"))) {
        *out = v.u.cycler->items.items[v.u.cycler->pos];
        return SL_OK;
    }
    if (v.kind == SL_JJ_RANGE) {
        const char *const names[] = { "start", "stop", "step" };
        const int64_t values[] = { v.u.range->start, v.u.range->stop, v.u.range->step };
        for (size_t i = 0; i < SL_COUNT(names); i++)
            if ((*found = sl_jj_str_is(name, names[i]))) {
                *out = sl_jj_int(values[i]);
                return SL_OK;
            }
    }
    const sl_jj_builtin *method = sl_jj_method_find(v, name.u.s, name.len);
    if (!method)
        return SL_OK;
    *found = true;
    sl_jj_bound *bound = NULL;
    TRY(sl_jj_alloc(r, 1, sizeof *bound, &bound));
    *bound = (sl_jj_bound){ v, method };
    *out = (sl_jj_value){ .kind = SL_JJ_METHOD, .u.bound = bound };
    return SL_OK;
}

/* v[key] of Python; *found is false for what it refuses with TypeError, KeyError or IndexError. */
static sl_status python_item(sl_jj_render *r, sl_jj_value v, sl_jj_value key, sl_jj_value *out, bool *found)
{
    *found = false;
    if (v.kind == SL_JJ_DICT) {
        const sl_jj_value *value = NULL;
        if (sl_jj_hashable(key))
            TRY(sl_jj_dict_get(r, v.u.dict, key, &value));
        *found = value != NULL;
        if (value)
            *out = *value;
        return SL_OK;
    }
    if (!sl_jj_is_integral(key) ||
        (v.kind != SL_JJ_STR && v.kind != SL_JJ_LIST && v.kind != SL_JJ_TUPLE && v.kind != SL_JJ_RANGE))
        return SL_OK;
    size_t n = 0;
    TRY(sl_jj_length(r, v, &n));
    int64_t i = sl_jj_integral(key);
    if (i < 0)
        i += (int64_t)n;
    if (i < 0 || i >= (int64_t)n)
        return SL_OK;
    *found = true;
    if (v.kind == SL_JJ_STR) {
        const size_t at = n == v.len ? (size_t)i : sl_jj_utf8_offset(v.u.s, v.len, (size_t)i);
        *out = sl_jj_str(v.u.s + at, sl_jj_utf8_width((unsigned char)v.u.s[at]));
        out->flag = v.flag;
    } else {
        *out = v.kind == SL_JJ_RANGE ? sl_jj_range_item(v.u.range, (size_t)i) : v.u.seq->items[i];
    }
    return SL_OK;
}

sl_status sl_jj_attr(sl_jj_render *r, sl_jj_value v, sl_jj_value name, sl_jj_value *out)
{
    bool found = false;
    if (v.kind == SL_JJ_UNDEFINED) {
        if (name.len >= 4 && memcmp(name.u.s, "__", 2) == 0 && memcmp(name.u.s + name.len - 2, "__", 2) == 0) {
            *out = missing_attr(v, name, true); /* Python objects have those: the sandbox hides them */
            return SL_OK;
        }
        return sl_jj_fail_undefined(r, v);
    }
    if (is_mutator(v, name)) {
        *out = missing_attr(v, name, true);
        return SL_OK;
    }
    TRY(python_attr(r, v, name, out, &found));
    if (found && name.len > 0 && name.u.s[0] == '_')
        *out = missing_attr(v, name, true);
    if (!found)
        TRY(python_item(r, v, name, out, &found));
    if (!found)
        *out = missing_attr(v, name, false);
    return SL_OK;
}

sl_status sl_jj_item(sl_jj_render *r, sl_jj_value v, sl_jj_value key, sl_jj_value *out)
{
    bool found = false;
    if (v.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, v);
    TRY(python_item(r, v, key, out, &found));
    if (found)
        return SL_OK;
    if (key.kind == SL_JJ_STR) {
        if (is_mutator(v, key)) {
            *out = missing_attr(v, key, true);
            return SL_OK;
        }
        TRY(python_attr(r, v, key, out, &found));
        if (!found || (key.len > 0 && key.u.s[0] == '_'))
            *out = missing_attr(v, key, found);
        return SL_OK;
    }
    *out = (sl_jj_value){ .kind = SL_JJ_UNDEFINED, .flag = SL_JJ_NO_ELEMENT, .aux = v.kind };
    out->u.i = sl_jj_is_integral(key) ? sl_jj_integral(key) : 0;
    if (!sl_jj_is_integral(key)) {
        *out = sl_jj_undefined_hint("the object has no such element");
        out->aux = v.kind;
    }
    return SL_OK;
}

/* Python's slice.indices: the first index and the number of items. */
static size_t slice_count(const int64_t *start, const int64_t *stop, int64_t step, size_t len, int64_t *first)
{
    const int64_t n = (int64_t)len, low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    int64_t from = step < 0 ? high : low, to = step < 0 ? low : high;
    if (start) {
        from = *start < 0 ? *start + n : *start;
        from = SL_MIN(SL_MAX(from, low), high);
    }
    if (stop) {
        to = *stop < 0 ? *stop + n : *stop;
        to = SL_MIN(SL_MAX(to, low), high);
    }
    *first = from;
    if (step < 0)
        return from > to ? (size_t)((from - to - 1) / -step) + 1 : 0;
    return to > from ? (size_t)((to - from - 1) / step) + 1 : 0;
}

/* Characters first, first + step, ... of a string. */
static sl_status slice_str(sl_jj_render *r, sl_jj_value v, int64_t first, int64_t step, size_t n, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    size_t at = sl_jj_utf8_offset(v.u.s, v.len, n > 0 ? (size_t)first : 0);
    if (step == 1) {
        *out = sl_jj_str(v.u.s + at, sl_jj_utf8_offset(v.u.s + at, v.len - at, n));
        out->flag = v.flag;
        return SL_OK;
    }
    for (size_t i = 0; i < n; i++) {
        TRY(sl_jj_step(r, 1));
        TRY(sl_jj_buf_add(r, &b, v.u.s + at, sl_jj_utf8_width((unsigned char)v.u.s[at])));
        for (int64_t k = 0; i + 1 < n && k < step; k++)
            at += sl_jj_utf8_width((unsigned char)v.u.s[at]);
        for (int64_t k = 0; i + 1 < n && k > step; k--)
            at -= sl_jj_utf8_last(v.u.s, at);
    }
    *out = sl_jj_buf_value(&b);
    out->flag = v.flag;
    return SL_OK;
}

static sl_status slice_range(sl_jj_render *r, const sl_jj_range *range, int64_t first, int64_t step,
                             const int64_t *stop, sl_jj_value *out)
{
    int64_t low = 0, high = 0, new_step = 0;
    const int64_t n = (int64_t)range->n;
    int64_t to = step < 0 ? -1 : n;
    if (stop) {
        to = *stop < 0 ? *stop + n : *stop;
        to = SL_MIN(SL_MAX(to, step < 0 ? (int64_t)-1 : (int64_t)0), step < 0 ? n - 1 : n);
    }
    if (__builtin_mul_overflow(first, range->step, &low) || __builtin_add_overflow(low, range->start, &low) ||
        __builtin_mul_overflow(to, range->step, &high) || __builtin_add_overflow(high, range->start, &high) ||
        __builtin_mul_overflow(range->step, step, &new_step))
        return sl_jj_fail(r, SL_EUNSUPPORTED, "an integer beyond 64 bits");
    return sl_jj_range_new(r, low, high, new_step, out);
}

bool sl_jj_sliceable(sl_jj_value v, const sl_jj_value bound[3])
{
    for (size_t i = 0; i < 3; i++)
        if (bound[i].kind != SL_JJ_NONE && !sl_jj_is_integral(bound[i]))
            return false;
    return v.kind == SL_JJ_STR || v.kind == SL_JJ_LIST || v.kind == SL_JJ_TUPLE || v.kind == SL_JJ_RANGE;
}

sl_status sl_jj_slice(sl_jj_render *r, sl_jj_value v, const sl_jj_value bound[3], sl_jj_value *out)
{
    int64_t value[3] = { 0, 0, 1 }, first = 0;
    size_t len = 0;
    if (v.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, v);
    if (v.kind != SL_JJ_STR && v.kind != SL_JJ_LIST && v.kind != SL_JJ_TUPLE && v.kind != SL_JJ_RANGE)
        return sl_jj_fail(r, SL_EFORMAT, "a '%s' cannot be sliced", sl_jj_type_name(v));
    for (size_t i = 0; i < 3; i++) {
        if (bound[i].kind != SL_JJ_NONE && !sl_jj_is_integral(bound[i]))
            return sl_jj_fail(r, SL_EFORMAT, "slice indices must be integers or none, not '%s'",
                              sl_jj_type_name(bound[i]));
        if (bound[i].kind != SL_JJ_NONE)
            value[i] = SL_MIN(SL_MAX(sl_jj_integral(bound[i]), INT64_MIN / 4), INT64_MAX / 4);
    }
    if (value[2] == 0)
        return sl_jj_fail(r, SL_EFORMAT, "slice step cannot be zero");
    TRY(sl_jj_length(r, v, &len));
    const int64_t *start = bound[0].kind == SL_JJ_NONE ? NULL : &value[0];
    const int64_t *stop = bound[1].kind == SL_JJ_NONE ? NULL : &value[1];
    const size_t n = slice_count(start, stop, value[2], len, &first);
    if (v.kind == SL_JJ_STR)
        return slice_str(r, v, first, value[2], n, out);
    if (v.kind == SL_JJ_RANGE)
        return slice_range(r, v.u.range, first, value[2], stop, out);
    sl_jj_seq *s = NULL;
    TRY(sl_jj_seq_new(r, n, &s));
    for (size_t i = 0; i < n; i++)
        TRY(sl_jj_seq_push(r, s, v.u.seq->items[first + (int64_t)i * value[2]]));
    *out = sl_jj_seq_value((sl_jj_kind)v.kind, s);
    return SL_OK;
}
