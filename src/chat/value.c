/* value.c - truth, equality, order, and the two containers. */
#include "chat/value_in.h"

#include <math.h>

#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"

#define TRY        SL_JJ_TRY
#define SMALL_DICT 8u /* pairs that are searched one by one */
#define TWO_TO_63  0x1p63

static const char *const type_names[SL_JJ_KIND_COUNT] = {
    [SL_JJ_MISSING] = "missing", [SL_JJ_UNDEFINED] = "Undefined", [SL_JJ_NONE] = "None",      [SL_JJ_BOOL] = "bool",
    [SL_JJ_INT] = "int",         [SL_JJ_FLOAT] = "float",         [SL_JJ_STR] = "str",        [SL_JJ_LIST] = "list",
    [SL_JJ_TUPLE] = "tuple",     [SL_JJ_DICT] = "dict",           [SL_JJ_VIEW] = "dict view", [SL_JJ_RANGE] = "range",
    [SL_JJ_ITER] = "generator",  [SL_JJ_NAMESPACE] = "Namespace", [SL_JJ_MACRO] = "Macro",    [SL_JJ_METHOD] = "method",
    [SL_JJ_FUNC] = "function",   [SL_JJ_LOOP] = "LoopContext",    [SL_JJ_CYCLER] = "Cycler",  [SL_JJ_JOINER] = "Joiner",
};

const char *sl_jj_type_name(sl_jj_value v)
{
    return v.kind < SL_JJ_KIND_COUNT ? type_names[v.kind] : "?";
}

bool sl_jj_truth(sl_jj_value v)
{
    switch ((sl_jj_kind)v.kind) {
    case SL_JJ_MISSING:
    case SL_JJ_UNDEFINED:
    case SL_JJ_NONE:
        return false;
    case SL_JJ_BOOL:
        return v.u.b;
    case SL_JJ_INT:
        return v.u.i != 0;
    case SL_JJ_FLOAT:
        return v.u.f != 0;
    case SL_JJ_STR:
        return v.len > 0;
    case SL_JJ_LIST:
    case SL_JJ_TUPLE:
        return v.u.seq->n > 0;
    case SL_JJ_DICT:
    case SL_JJ_VIEW:
        return v.u.dict->n > 0;
    case SL_JJ_RANGE:
        return v.u.range->n > 0;
    default:
        return true;
    }
}

bool sl_jj_hashable(sl_jj_value v)
{
    if (v.kind == SL_JJ_TUPLE) {
        for (size_t i = 0; i < v.u.seq->n; i++)
            if (v.u.seq->items[i].kind == SL_JJ_TUPLE || !sl_jj_hashable(v.u.seq->items[i]))
                return false; /* tuples in tuples would need recursion, and no template has them as keys */
        return true;
    }
    return v.kind != SL_JJ_LIST && v.kind != SL_JJ_DICT && v.kind != SL_JJ_VIEW;
}

static int order_int_float(int64_t i, double f)
{
    if (f >= TWO_TO_63)
        return -1;
    if (f < -TWO_TO_63)
        return 1;
    const int64_t whole = (int64_t)f; /* towards zero */
    if (i != whole)
        return i < whole ? -1 : 1;
    const double rest = f - (double)whole;
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

/* Of two numbers, neither NaN. */
static int order_numbers(sl_jj_value a, sl_jj_value b)
{
    if (a.kind == SL_JJ_FLOAT && b.kind == SL_JJ_FLOAT)
        return (a.u.f > b.u.f) - (a.u.f < b.u.f);
    if (a.kind == SL_JJ_FLOAT)
        return -order_int_float(sl_jj_integral(b), a.u.f);
    if (b.kind == SL_JJ_FLOAT)
        return order_int_float(sl_jj_integral(a), b.u.f);
    const int64_t x = sl_jj_integral(a), y = sl_jj_integral(b);
    return (x > y) - (x < y);
}

static bool is_nan(sl_jj_value v)
{
    return v.kind == SL_JJ_FLOAT && isnan(v.u.f);
}

static sl_status equal_dicts(sl_jj_render *r, const sl_jj_dict *a, const sl_jj_dict *b, bool *out)
{
    *out = a->n == b->n;
    for (size_t i = 0; *out && i < a->n; i++) {
        const sl_jj_value *other = NULL;
        TRY(sl_jj_dict_get(r, b, a->pairs[i].key, &other));
        *out = other != NULL;
        if (other)
            TRY(sl_jj_equal(r, a->pairs[i].value, *other, out));
    }
    return SL_OK;
}

static sl_status equal_seqs(sl_jj_render *r, const sl_jj_seq *a, const sl_jj_seq *b, bool *out)
{
    *out = a->n == b->n;
    for (size_t i = 0; *out && i < a->n; i++)
        TRY(sl_jj_equal(r, a->items[i], b->items[i], out));
    return SL_OK;
}

static bool equal_ranges(const sl_jj_range *a, const sl_jj_range *b)
{
    return a->n == b->n && (a->n == 0 || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

static sl_status equal_same_kind(sl_jj_render *r, sl_jj_value a, sl_jj_value b, bool *out)
{
    switch ((sl_jj_kind)a.kind) {
    case SL_JJ_UNDEFINED:
    case SL_JJ_NONE:
        *out = true;
        return SL_OK;
    case SL_JJ_STR:
        *out = a.len == b.len && memcmp(a.u.s, b.u.s, a.len) == 0;
        return sl_jj_step(r, a.len / 64);
    case SL_JJ_LIST:
    case SL_JJ_TUPLE:
        return equal_seqs(r, a.u.seq, b.u.seq, out);
    case SL_JJ_DICT:
        return equal_dicts(r, a.u.dict, b.u.dict, out);
    case SL_JJ_RANGE:
        *out = equal_ranges(a.u.range, b.u.range);
        return SL_OK;
    case SL_JJ_VIEW:
        if (a.flag == SL_JJ_VALUES || a.flag != b.flag) {
            *out = a.u.dict == b.u.dict && a.flag == b.flag;
            return SL_OK;
        }
        return sl_jj_fail(r, SL_EUNSUPPORTED, "comparing views of dicts is not supported");
    case SL_JJ_METHOD:
        *out = a.u.bound->method == b.u.bound->method && a.u.bound->self.u.ptr == b.u.bound->self.u.ptr;
        return SL_OK;
    default:
        *out = a.u.ptr == b.u.ptr;
        return SL_OK;
    }
}

sl_status sl_jj_equal(sl_jj_render *r, sl_jj_value a, sl_jj_value b, bool *out)
{
    *out = false;
    TRY(sl_jj_step(r, 1));
    if (sl_jj_is_number(a) && sl_jj_is_number(b)) {
        *out = !is_nan(a) && !is_nan(b) && order_numbers(a, b) == 0;
        return SL_OK;
    }
    if (a.kind != b.kind)
        return SL_OK;
    TRY(sl_jj_enter(r));
    TRY(equal_same_kind(r, a, b, out));
    sl_jj_leave(r);
    return SL_OK;
}

static sl_status order_seqs(sl_jj_render *r, const sl_jj_seq *a, const sl_jj_seq *b, int *out)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        bool same = false;
        TRY(sl_jj_equal(r, a->items[i], b->items[i], &same));
        if (!same)
            return sl_jj_order(r, a->items[i], b->items[i], out);
    }
    *out = (a->n > b->n) - (a->n < b->n);
    return SL_OK;
}

sl_status sl_jj_order(sl_jj_render *r, sl_jj_value a, sl_jj_value b, int *out)
{
    *out = 0;
    TRY(sl_jj_step(r, 1));
    if (sl_jj_is_number(a) && sl_jj_is_number(b)) {
        /* A NaN is neither smaller nor greater; 2 says so: no comparison with 0 holds but `!= 0`. */
        *out = is_nan(a) || is_nan(b) ? 2 : order_numbers(a, b);
        return SL_OK;
    }
    if (a.kind == SL_JJ_STR && b.kind == SL_JJ_STR) {
        const int c = memcmp(a.u.s, b.u.s, SL_MIN(a.len, b.len));
        *out = c ? (c > 0) - (c < 0) : (a.len > b.len) - (a.len < b.len);
        return sl_jj_step(r, SL_MIN(a.len, b.len) / 64);
    }
    if (a.kind == b.kind && (a.kind == SL_JJ_LIST || a.kind == SL_JJ_TUPLE)) {
        TRY(sl_jj_enter(r));
        TRY(order_seqs(r, a.u.seq, b.u.seq, out));
        sl_jj_leave(r);
        return SL_OK;
    }
    if (a.kind == SL_JJ_UNDEFINED || b.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, a.kind == SL_JJ_UNDEFINED ? a : b);
    if (a.kind == SL_JJ_VIEW && b.kind == SL_JJ_VIEW)
        return sl_jj_fail(r, SL_EUNSUPPORTED, "comparing views of dicts is not supported");
    return sl_jj_fail(r, SL_EFORMAT, "no order between '%s' and '%s'", sl_jj_type_name(a), sl_jj_type_name(b));
}

sl_status sl_jj_seq_new(sl_jj_render *r, size_t cap, sl_jj_seq **out)
{
    TRY(sl_jj_alloc(r, 1, sizeof **out, out));
    (*out)->cap = cap;
    return cap ? sl_jj_alloc(r, cap, sizeof *(*out)->items, &(*out)->items) : SL_OK;
}

sl_status sl_jj_seq_push(sl_jj_render *r, sl_jj_seq *s, sl_jj_value v)
{
    TRY(sl_jj_step(r, 1));
    if (s->n == s->cap) {
        const size_t cap = s->cap ? 2 * s->cap : 4;
        sl_jj_value *grown = NULL;
        TRY(sl_jj_alloc(r, cap, sizeof *grown, &grown));
        if (s->n > 0)
            memcpy(grown, s->items, s->n * sizeof *grown);
        s->items = grown;
        s->cap = cap;
    }
    s->items[s->n++] = v;
    return SL_OK;
}

static uint64_t mix(uint64_t h)
{
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    return h ^ h >> 33;
}

/* Numbers that are equal have equal hashes, whatever their type. */
static uint64_t hash_number(sl_jj_value v)
{
    if (v.kind != SL_JJ_FLOAT)
        return mix((uint64_t)sl_jj_integral(v));
    if (v.u.f >= -TWO_TO_63 && v.u.f < TWO_TO_63 && v.u.f == (double)(int64_t)v.u.f)
        return mix((uint64_t)(int64_t)v.u.f);
    uint64_t bits = 0;
    memcpy(&bits, &v.u.f, sizeof bits);
    return mix(bits);
}

static uint64_t hash_of(sl_jj_value v)
{
    uint64_t h = 14695981039346656037u;
    switch ((sl_jj_kind)v.kind) {
    case SL_JJ_BOOL:
    case SL_JJ_INT:
    case SL_JJ_FLOAT:
        return hash_number(v);
    case SL_JJ_STR:
        for (size_t i = 0; i < v.len; i++)
            h = (h ^ (unsigned char)v.u.s[i]) * 1099511628211u;
        return mix(h);
    case SL_JJ_TUPLE:
        for (size_t i = 0; i < v.u.seq->n; i++) {
            const sl_jj_value item = v.u.seq->items[i];
            h = mix(h + (item.kind == SL_JJ_TUPLE ? 0 : hash_of(item)));
        }
        return h;
    case SL_JJ_RANGE:
        return mix(v.u.range->n);
    default: /* by identity, or all alike */
        return v.kind;
    }
}

/* The pair with this key, or d->n; *free is where the index has room for it. */
static sl_status find_pair(sl_jj_render *r, const sl_jj_dict *d, sl_jj_value key, size_t *out, size_t *free_at)
{
    bool same = false;
    *out = d->n;
    if (!d->index) {
        for (size_t i = 0; i < d->n; i++) {
            TRY(sl_jj_equal(r, d->pairs[i].key, key, &same));
            if (same) {
                *out = i;
                return SL_OK;
            }
        }
        return SL_OK;
    }
    for (size_t p = hash_of(key);; p++) {
        p &= d->n_index - 1;
        *free_at = p;
        if (d->index[p] == 0)
            return SL_OK;
        TRY(sl_jj_equal(r, d->pairs[d->index[p] - 1].key, key, &same));
        if (same) {
            *out = d->index[p] - 1;
            return SL_OK;
        }
    }
}

/* An index with room for the pairs that `cap` allows. Keys differ, so no comparison is needed. */
static sl_status build_index(sl_jj_render *r, sl_jj_dict *d)
{
    size_t n = 2 * SMALL_DICT;
    while (n < 2 * d->cap)
        n *= 2;
    TRY(sl_jj_alloc(r, n, sizeof *d->index, &d->index));
    d->n_index = n;
    for (size_t i = 0; i < d->n; i++) {
        size_t p = hash_of(d->pairs[i].key) & (n - 1);
        while (d->index[p]) {
            TRY(sl_jj_step(r, 1));
            p = (p + 1) & (n - 1);
        }
        d->index[p] = (uint32_t)i + 1;
    }
    return SL_OK;
}

sl_status sl_jj_dict_new(sl_jj_render *r, size_t cap, sl_jj_dict **out)
{
    TRY(sl_jj_alloc(r, 1, sizeof **out, out));
    (*out)->cap = cap;
    if (cap > 0)
        TRY(sl_jj_alloc(r, cap, sizeof *(*out)->pairs, &(*out)->pairs));
    return cap > SMALL_DICT ? build_index(r, *out) : SL_OK;
}

static sl_status dict_grow(sl_jj_render *r, sl_jj_dict *d)
{
    const size_t cap = d->cap ? 2 * d->cap : 4;
    sl_jj_pair *grown = NULL;
    TRY(sl_jj_alloc(r, cap, sizeof *grown, &grown));
    if (d->n > 0)
        memcpy(grown, d->pairs, d->n * sizeof *grown);
    d->pairs = grown;
    d->cap = cap;
    return cap > SMALL_DICT ? build_index(r, d) : SL_OK;
}

sl_status sl_jj_dict_set(sl_jj_render *r, sl_jj_dict *d, sl_jj_value key, sl_jj_value value)
{
    size_t i = 0, free_at = 0;
    if (!sl_jj_hashable(key))
        return sl_jj_fail(r, SL_EFORMAT, "unhashable type: '%s'", sl_jj_type_name(key));
    TRY(find_pair(r, d, key, &i, &free_at));
    if (i < d->n) {
        d->pairs[i].value = value;
        return SL_OK;
    }
    if (d->n == d->cap) {
        TRY(dict_grow(r, d));
        TRY(find_pair(r, d, key, &i, &free_at));
    }
    d->pairs[d->n] = (sl_jj_pair){ key, value };
    d->n++;
    if (d->index)
        d->index[free_at] = (uint32_t)d->n;
    return SL_OK;
}

sl_status sl_jj_dict_get(sl_jj_render *r, const sl_jj_dict *d, sl_jj_value key, const sl_jj_value **out)
{
    size_t i = 0, free_at = 0;
    TRY(find_pair(r, d, key, &i, &free_at));
    *out = i < d->n ? &d->pairs[i].value : NULL;
    return SL_OK;
}
