/* filters_seq.c - Jinja's filters on sequences and mappings. Those that are generators in Jinja
 * return iterators here, which work when they are walked. */
#include <math.h>

#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/str_case_in.h"

#define TRY SL_JJ_TRY

typedef const sl_jj_value *args;

static sl_status length(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    size_t n = 0;
    TRY(sl_jj_length(r, v, &n));
    *out = sl_jj_int((int64_t)n);
    return SL_OK;
}

static sl_status fallback(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)r;
    const sl_jj_value other = arg[0].kind == SL_JJ_MISSING ? sl_jj_text("") : arg[0];
    *out = v.kind == SL_JJ_UNDEFINED || (sl_jj_truth(arg[1]) && !sl_jj_truth(v)) ? other : v;
    return SL_OK;
}

static sl_status list(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    sl_jj_seq *s = NULL;
    TRY(sl_jj_collect(r, v, &s));
    *out = sl_jj_seq_value(SL_JJ_LIST, s);
    return SL_OK;
}

static sl_status first(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    sl_jj_iter *it = NULL;
    bool done = false;
    TRY(sl_jj_iter_open(r, v, &it));
    TRY(sl_jj_iter_next(r, it, out, &done));
    if (done)
        *out = sl_jj_undefined_hint("No first item, sequence was empty.");
    return SL_OK;
}

static sl_status last(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    sl_jj_iter *it = NULL;
    bool done = false;
    TRY(sl_jj_iter_reversed(r, v, &it));
    if (!it)
        return sl_jj_fail(r, SL_EFORMAT, "'%s' object is not reversible", sl_jj_type_name(v));
    TRY(sl_jj_iter_next(r, it, out, &done));
    if (done)
        *out = sl_jj_undefined_hint("No last item, sequence was empty.");
    return SL_OK;
}

static sl_status reverse(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    sl_jj_iter *it = NULL;
    sl_jj_seq *s = NULL;
    if (v.kind == SL_JJ_STR) {
        const sl_jj_value backwards[3] = { sl_jj_none(), sl_jj_none(), sl_jj_int(-1) };
        return sl_jj_slice(r, v, backwards, out);
    }
    TRY(sl_jj_iter_reversed(r, v, &it));
    if (it) {
        *out = sl_jj_iter_value(it);
        return SL_OK;
    }
    TRY(sl_jj_collect(r, v, &s));
    for (size_t i = 0; i < s->n / 2; i++) {
        const sl_jj_value swap = s->items[i];
        s->items[i] = s->items[s->n - 1 - i];
        s->items[s->n - 1 - i] = swap;
    }
    *out = sl_jj_seq_value(SL_JJ_LIST, s);
    return SL_OK;
}

/* The generator of items(): nothing of an undefined value, and an error only when walked. */
static sl_status next_item(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done)
{
    if (it->from.kind != SL_JJ_DICT && it->from.kind != SL_JJ_UNDEFINED)
        return sl_jj_fail(r, SL_EFORMAT, "can only get item pairs from a mapping");
    *done = it->from.kind == SL_JJ_UNDEFINED || it->pos >= it->from.u.dict->n;
    if (*done)
        return SL_OK;
    const sl_jj_value view = { .kind = SL_JJ_VIEW, .flag = SL_JJ_ITEMS, .u.dict = it->from.u.dict };
    return sl_jj_view_item(r, view, it->pos++, out);
}

static sl_status items(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    sl_jj_iter *it = NULL;
    TRY(sl_jj_iter_new(r, next_item, v, &it));
    *out = sl_jj_iter_value(it);
    return SL_OK;
}

/* A key to sort by: text in small letters unless the case counts. */
static sl_status fold(sl_jj_render *r, sl_jj_value v, bool case_sensitive, sl_jj_value *out)
{
    if (v.kind == SL_JJ_STR && !case_sensitive)
        return sl_jj_str_map(r, v, SL_JJ_LOWER, out);
    *out = v;
    return SL_OK;
}

/* The attribute paths of "a,b.c": each one's folded value, as a list that compares in that order. */
static sl_status sort_key(sl_jj_render *r, sl_jj_value v, sl_jj_value attribute, bool case_sensitive, sl_jj_value *out)
{
    sl_jj_seq *keys = NULL;
    TRY(sl_jj_seq_new(r, 1, &keys));
    for (size_t at = 0, end = 0; attribute.kind != SL_JJ_STR || at <= attribute.len; at = end + 1) {
        sl_jj_value path = attribute, key = { 0 };
        if (attribute.kind == SL_JJ_STR) {
            const char *comma = memchr(attribute.u.s + at, ',', attribute.len - at);
            end = comma ? (size_t)(comma - attribute.u.s) : attribute.len;
            path = sl_jj_str(attribute.u.s + at, end - at);
        }
        TRY(sl_jj_attr_path(r, v, path, sl_jj_none(), &key));
        TRY(fold(r, key, case_sensitive, &key));
        TRY(sl_jj_seq_push(r, keys, key));
        if (attribute.kind != SL_JJ_STR)
            break;
    }
    *out = sl_jj_seq_value(SL_JJ_LIST, keys);
    return SL_OK;
}

/* Stable, bottom up. `reverse` keeps equal items in their order, as Python does. */
static sl_status merge_sort(sl_jj_render *r, sl_jj_pair *a, size_t n, bool reversed)
{
    sl_jj_pair *b = NULL, *from = a;
    TRY(sl_jj_alloc(r, n, sizeof *b, &b));
    sl_jj_pair *to = b;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * width) {
            const size_t mid = SL_MIN(lo + width, n), hi = SL_MIN(lo + 2 * width, n);
            for (size_t i = lo, j = mid, k = lo; k < hi; k++) {
                bool right = i == mid;
                if (i < mid && j < hi)
                    TRY(sl_jj_compare(r, reversed ? SL_JJ_GT : SL_JJ_LT, from[j].key, from[i].key, &right));
                to[k] = right ? from[j++] : from[i++];
            }
        }
        sl_jj_pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != a)
        memcpy(a, from, n * sizeof *a);
    return SL_OK;
}

static sl_status sort_by(sl_jj_render *r, sl_jj_value v, sl_jj_value attribute, bool case_sensitive, bool multi,
                         sl_jj_value otherwise, bool reversed, sl_jj_pair **pairs, size_t *n)
{
    sl_jj_seq *s = NULL;
    TRY(sl_jj_collect(r, v, &s));
    TRY(sl_jj_alloc(r, s->n, sizeof **pairs, pairs));
    for (size_t i = 0; i < s->n; i++) {
        sl_jj_pair *p = &(*pairs)[i];
        p->value = s->items[i];
        if (multi) {
            TRY(sort_key(r, s->items[i], attribute, case_sensitive, &p->key));
        } else {
            TRY(sl_jj_attr_path(r, s->items[i], attribute, otherwise, &p->key));
            TRY(fold(r, p->key, case_sensitive, &p->key));
        }
    }
    *n = s->n;
    return merge_sort(r, *pairs, s->n, reversed);
}

static sl_jj_value or_none(sl_jj_value v)
{
    return v.kind == SL_JJ_MISSING ? sl_jj_none() : v;
}

static sl_status sort(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    sl_jj_pair *pairs = NULL;
    sl_jj_seq *s = NULL;
    size_t n = 0;
    TRY(sort_by(r, v, or_none(arg[2]), sl_jj_truth(arg[1]), true, sl_jj_none(), sl_jj_truth(arg[0]), &pairs, &n));
    TRY(sl_jj_seq_new(r, n, &s));
    for (size_t i = 0; i < n; i++)
        TRY(sl_jj_seq_push(r, s, pairs[i].value));
    *out = sl_jj_seq_value(SL_JJ_LIST, s);
    return SL_OK;
}

static sl_status dictsort(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    const sl_jj_value by = arg[1].kind == SL_JJ_MISSING ? sl_jj_text("key") : arg[1];
    sl_jj_pair *pairs = NULL;
    sl_jj_seq *s = NULL;
    size_t n = 0;
    if (!sl_jj_str_is(by, "key") && !sl_jj_str_is(by, "value"))
        return sl_jj_fail(r, SL_EFORMAT, "dictsort: by must be \"key\" or \"value\"");
    if (v.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, v);
    if (v.kind != SL_JJ_DICT)
        return sl_jj_fail(r, SL_EFORMAT, "'%s' object has no attribute 'items'", sl_jj_type_name(v));
    v = (sl_jj_value){ .kind = SL_JJ_VIEW, .flag = SL_JJ_ITEMS, .u.dict = v.u.dict };
    TRY(sort_by(r, v, sl_jj_int(sl_jj_str_is(by, "value")), sl_jj_truth(arg[0]), false, sl_jj_none(),
                sl_jj_truth(arg[2]), &pairs, &n));
    TRY(sl_jj_seq_new(r, n, &s));
    for (size_t i = 0; i < n; i++)
        TRY(sl_jj_seq_push(r, s, pairs[i].value));
    *out = sl_jj_seq_value(SL_JJ_LIST, s);
    return SL_OK;
}

/* [(key, [items])]; the key is that of the group's first item, in its own case. */
static sl_status groupby(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    sl_jj_pair *pairs = NULL;
    sl_jj_seq *groups = NULL, *members = NULL;
    const bool case_sensitive = sl_jj_truth(arg[2]);
    size_t n = 0;
    TRY(sort_by(r, v, arg[0], case_sensitive, false, arg[1], false, &pairs, &n));
    TRY(sl_jj_seq_new(r, 0, &groups));
    for (size_t i = 0; i < n; i++) {
        bool same = false;
        if (i > 0)
            TRY(sl_jj_equal(r, pairs[i - 1].key, pairs[i].key, &same));
        if (!same) {
            sl_jj_seq *group = NULL;
            sl_jj_value key = { 0 };
            TRY(sl_jj_seq_new(r, 2, &group));
            TRY(sl_jj_seq_new(r, 0, &members));
            TRY(sl_jj_attr_path(r, pairs[i].value, arg[0], arg[1], &key));
            TRY(sl_jj_seq_push(r, group, key));
            TRY(sl_jj_seq_push(r, group, sl_jj_seq_value(SL_JJ_LIST, members)));
            sl_jj_value tuple = sl_jj_seq_value(SL_JJ_TUPLE, group);
            tuple.flag = 1;
            TRY(sl_jj_seq_push(r, groups, tuple));
        }
        TRY(sl_jj_seq_push(r, members, pairs[i].value));
    }
    *out = sl_jj_seq_value(SL_JJ_LIST, groups);
    return SL_OK;
}

static sl_status extreme(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_op better, sl_jj_value *out)
{
    sl_jj_seq *s = NULL;
    sl_jj_value best = { 0 };
    TRY(sl_jj_collect(r, v, &s));
    *out = sl_jj_undefined_hint("No aggregated item, sequence was empty.");
    for (size_t i = 0; i < s->n; i++) {
        sl_jj_value key = { 0 };
        bool wins = i == 0;
        TRY(sl_jj_attr_path(r, s->items[i], or_none(arg[1]), sl_jj_none(), &key));
        TRY(fold(r, key, sl_jj_truth(arg[0]), &key));
        if (i > 0)
            TRY(sl_jj_compare(r, better, key, best, &wins));
        if (wins) {
            best = key;
            *out = s->items[i];
        }
    }
    return SL_OK;
}

static sl_status min(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    return extreme(r, v, arg, SL_JJ_LT, out);
}
static sl_status max(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    return extreme(r, v, arg, SL_JJ_GT, out);
}

static sl_status sum(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    sl_jj_seq *s = NULL;
    *out = arg[1].kind == SL_JJ_MISSING ? sl_jj_int(0) : arg[1];
    if (out->kind == SL_JJ_STR)
        return sl_jj_fail(r, SL_EFORMAT, "sum() can't sum strings");
    TRY(sl_jj_collect(r, v, &s));
    for (size_t i = 0; i < s->n; i++) {
        sl_jj_value item = { 0 };
        TRY(sl_jj_attr_path(r, s->items[i], or_none(arg[0]), sl_jj_none(), &item));
        TRY(sl_jj_binary(r, SL_JJ_ADD, *out, item, out));
    }
    return SL_OK;
}

/* The source of a generator, opened at its first pull. Jinja does nothing for what is not true. */
static sl_status start(sl_jj_render *r, sl_jj_iter *it, bool only_if_true, bool *empty)
{
    *empty = only_if_true && !it->source && !sl_jj_truth(it->from);
    if (!*empty && !it->source)
        TRY(sl_jj_iter_open(r, it->from, &it->source));
    return SL_OK;
}

static sl_status next_unique(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done)
{
    bool empty = false;
    TRY(start(r, it, false, &empty));
    if (!it->seen)
        TRY(sl_jj_dict_new(r, 0, &it->seen));
    for (;;) {
        sl_jj_value key = { 0 };
        const sl_jj_value *found = NULL;
        TRY(sl_jj_iter_next(r, it->source, out, done));
        if (*done)
            return SL_OK;
        TRY(sl_jj_attr_path(r, *out, it->path, sl_jj_none(), &key));
        TRY(fold(r, key, it->negate, &key));
        if (!sl_jj_hashable(key))
            return sl_jj_fail(r, SL_EFORMAT, "unhashable type: '%s'", sl_jj_type_name(key));
        TRY(sl_jj_dict_get(r, it->seen, key, &found));
        if (!found)
            return sl_jj_dict_set(r, it->seen, key, sl_jj_none());
    }
}

static sl_status unique(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    sl_jj_iter *it = NULL;
    TRY(sl_jj_iter_new(r, next_unique, v, &it));
    it->negate = sl_jj_truth(arg[0]); /* case sensitive */
    it->path = or_none(arg[1]);
    *out = sl_jj_iter_value(it);
    return SL_OK;
}

static sl_status next_batch(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done)
{
    bool empty = false;
    sl_jj_seq *s = NULL;
    const int64_t size = it->step;
    TRY(start(r, it, false, &empty));
    TRY(sl_jj_seq_new(r, 0, &s));
    /* Jinja compares the length before it adds: a size of 0 or less never fills. */
    while (s->n == 0 || (int64_t)s->n != size) {
        sl_jj_value item = { 0 };
        bool end = false;
        TRY(sl_jj_iter_next(r, it->source, &item, &end));
        if (end)
            break;
        TRY(sl_jj_seq_push(r, s, item));
    }
    *done = s->n == 0;
    while (!*done && it->fallback.kind != SL_JJ_NONE && (int64_t)s->n < size)
        TRY(sl_jj_seq_push(r, s, it->fallback));
    *out = sl_jj_seq_value(SL_JJ_LIST, s);
    return SL_OK;
}

/* Batches of a size that no list can have: one of everything, behind an empty one if the size is 0. */
static sl_status never_full(sl_jj_render *r, sl_jj_value v, bool none, double fill_to, sl_jj_value *out)
{
    sl_jj_seq *all = NULL, *batches = NULL, *empty = NULL;
    sl_jj_iter *it = NULL;
    TRY(sl_jj_collect(r, v, &all));
    TRY(sl_jj_seq_new(r, 2, &batches));
    TRY(sl_jj_seq_new(r, 0, &empty));
    if (all->n > 0 && (double)all->n < fill_to)
        return sl_jj_fail(r, SL_EFORMAT, "batch: a size that is no integer cannot be filled up");
    if (all->n > 0 && none)
        TRY(sl_jj_seq_push(r, batches, sl_jj_seq_value(SL_JJ_LIST, empty)));
    if (all->n > 0)
        TRY(sl_jj_seq_push(r, batches, sl_jj_seq_value(SL_JJ_LIST, all)));
    TRY(sl_jj_iter_open(r, sl_jj_seq_value(SL_JJ_LIST, batches), &it));
    *out = sl_jj_iter_value(it);
    return SL_OK;
}

static sl_status batch(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    sl_jj_iter *it = NULL;
    const bool is_float = arg[0].kind == SL_JJ_FLOAT;
    TRY(sl_jj_iter_new(r, next_batch, v, &it));
    if (is_float && arg[0].u.f >= 1 && arg[0].u.f < 0x1p53 && floor(arg[0].u.f) == arg[0].u.f)
        it->step = (int64_t)arg[0].u.f;
    else if (is_float)
        return never_full(r, v, false, or_none(arg[1]).kind == SL_JJ_NONE ? 0 : arg[0].u.f, out);
    else
        TRY(sl_jj_arg_int(r, arg[0], 0, &it->step));
    if (it->step <= 0)
        return never_full(r, v, it->step == 0, 0, out);
    it->fallback = or_none(arg[1]);
    *out = sl_jj_iter_value(it);
    return SL_OK;
}

static sl_status slice(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    sl_jj_seq *all = NULL, *slices = NULL;
    int64_t n = 0;
    sl_jj_iter *it = NULL;
    TRY(sl_jj_arg_int(r, arg[0], 0, &n));
    TRY(sl_jj_collect(r, v, &all));
    TRY(sl_jj_seq_new(r, 0, &slices));
    if (n == 0)
        return sl_jj_fail(r, SL_EFORMAT, "division by zero");
    const size_t count = n > 0 ? (size_t)n : 0, each = count ? all->n / count : 0, extra = count ? all->n % count : 0;
    for (size_t i = 0, at = 0; i < count; i++) {
        sl_jj_seq *s = NULL;
        TRY(sl_jj_seq_new(r, 0, &s));
        for (size_t k = 0; k < each + (i < extra); k++)
            TRY(sl_jj_seq_push(r, s, all->items[at++]));
        if (i >= extra && arg[1].kind != SL_JJ_MISSING && arg[1].kind != SL_JJ_NONE)
            TRY(sl_jj_seq_push(r, s, arg[1]));
        TRY(sl_jj_seq_push(r, slices, sl_jj_seq_value(SL_JJ_LIST, s)));
    }
    TRY(sl_jj_iter_open(r, sl_jj_seq_value(SL_JJ_LIST, slices), &it));
    *out = sl_jj_iter_value(it);
    return SL_OK;
}

static sl_status next_mapped(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done)
{
    TRY(start(r, it, true, done));
    if (*done)
        return SL_OK;
    if (!it->started) {
        it->started = true;
        if (!it->by_attr) {
            if (it->call.n_pos == 0)
                return sl_jj_fail(r, SL_EFORMAT, "map requires a filter argument");
            const sl_jj_value name = it->call.pos[0];
            it->builtin = name.kind == SL_JJ_STR ? sl_jj_filter_find(name.u.s, name.len) : NULL;
            it->call.pos++;
            it->call.n_pos--;
            it->path = name;
        }
    }
    TRY(sl_jj_iter_next(r, it->source, out, done));
    if (*done)
        return SL_OK;
    if (it->by_attr)
        return sl_jj_attr_path(r, *out, it->path, it->fallback, out);
    if (!it->builtin)
        return sl_jj_fail(r, SL_EFORMAT, "no filter named '%.*s'", it->path.kind == SL_JJ_STR ? (int)it->path.len : 0,
                          it->path.kind == SL_JJ_STR ? it->path.u.s : "");
    return sl_jj_call_filter(r, it->builtin, *out, &it->call, out);
}

static sl_status map(sl_jj_render *r, sl_jj_value v, const sl_jj_call *call, sl_jj_value *out)
{
    sl_jj_iter *it = NULL;
    TRY(sl_jj_iter_new(r, next_mapped, v, &it));
    it->call = *call;
    for (size_t i = 0; call->n_pos == 0 && i < call->n_kw; i++)
        it->by_attr |= sl_jj_str_is(call->kw[i].key, "attribute");
    for (size_t i = 0; it->by_attr && i < call->n_kw; i++) {
        if (sl_jj_str_is(call->kw[i].key, "attribute"))
            it->path = call->kw[i].value;
        else if (sl_jj_str_is(call->kw[i].key, "default"))
            it->fallback = call->kw[i].value;
        else
            return sl_jj_fail(r, SL_EFORMAT, "map: unexpected keyword argument '%.*s'", (int)call->kw[i].key.len,
                              call->kw[i].key.u.s);
    }
    *out = sl_jj_iter_value(it);
    return SL_OK;
}

static sl_status start_select(sl_jj_render *r, sl_jj_iter *it)
{
    size_t used = 0;
    it->started = true;
    if (it->by_attr) {
        if (it->call.n_pos == 0)
            return sl_jj_fail(r, SL_EFORMAT, "missing parameter for attribute name");
        it->path = it->call.pos[used++];
    }
    if (it->call.n_pos > used) {
        const sl_jj_value name = it->call.pos[used++];
        it->builtin = name.kind == SL_JJ_STR ? sl_jj_test_find(name.u.s, name.len) : NULL;
        if (!it->builtin)
            return sl_jj_fail(r, SL_EFORMAT, "no test named '%.*s'", name.kind == SL_JJ_STR ? (int)name.len : 0,
                              name.kind == SL_JJ_STR ? name.u.s : "");
    }
    if (used > 0) {
        it->call.pos += used;
        it->call.n_pos -= used;
    }
    return SL_OK;
}

static sl_status next_selected(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done)
{
    TRY(start(r, it, true, done));
    if (*done)
        return SL_OK;
    for (;;) {
        sl_jj_value v = { 0 };
        bool yes = false;
        TRY(sl_jj_iter_next(r, it->source, out, done));
        if (*done)
            return SL_OK;
        if (!it->started)
            TRY(start_select(r, it));
        v = *out;
        if (it->by_attr)
            TRY(sl_jj_attr_path(r, v, it->path, sl_jj_none(), &v));
        if (it->builtin)
            TRY(sl_jj_call_test(r, it->builtin, v, &it->call, &yes));
        else
            yes = sl_jj_truth(v);
        if (yes != it->negate)
            return SL_OK;
    }
}

static sl_status select_any(sl_jj_render *r, sl_jj_value v, const sl_jj_call *call, bool by_attr, bool negate,
                            sl_jj_value *out)
{
    sl_jj_iter *it = NULL;
    TRY(sl_jj_iter_new(r, next_selected, v, &it));
    it->call = *call;
    it->by_attr = by_attr;
    it->negate = negate;
    *out = sl_jj_iter_value(it);
    return SL_OK;
}

static sl_status select_(sl_jj_render *r, sl_jj_value v, const sl_jj_call *call, sl_jj_value *out)
{
    return select_any(r, v, call, false, false, out);
}
static sl_status reject(sl_jj_render *r, sl_jj_value v, const sl_jj_call *call, sl_jj_value *out)
{
    return select_any(r, v, call, false, true, out);
}
static sl_status selectattr(sl_jj_render *r, sl_jj_value v, const sl_jj_call *call, sl_jj_value *out)
{
    return select_any(r, v, call, true, false, out);
}
static sl_status rejectattr(sl_jj_render *r, sl_jj_value v, const sl_jj_call *call, sl_jj_value *out)
{
    return select_any(r, v, call, true, true, out);
}

/* Only what getattr finds, not items of a dict. */
static sl_status attr(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    TRY(sl_jj_want_str(r, "attr", arg[0]));
    if (v.kind == SL_JJ_DICT && !sl_jj_method_find(v, arg[0].u.s, arg[0].len)) {
        *out = sl_jj_undefined(arg[0].u.s, arg[0].len);
        out->flag = SL_JJ_NO_ATTR;
        out->aux = v.kind;
        return SL_OK;
    }
    return sl_jj_attr(r, v, arg[0], out);
}

static const sl_jj_builtin table[] = {
    { "length", length, { "", 0 }, NULL },
    { "count", length, { "", 0 }, NULL },
    { "default", fallback, { "default_value,boolean", 0 }, NULL },
    { "d", fallback, { "default_value,boolean", 0 }, NULL },
    { "list", list, { "", 0 }, NULL },
    { "first", first, { "", 0 }, NULL },
    { "last", last, { "", 0 }, NULL },
    { "reverse", reverse, { "", 0 }, NULL },
    { "items", items, { "", 0 }, NULL },
    { "sort", sort, { "reverse,case_sensitive,attribute", 0 }, NULL },
    { "dictsort", dictsort, { "case_sensitive,by,reverse", 0 }, NULL },
    { "groupby", groupby, { "attribute,default,case_sensitive", 1 }, NULL },
    { "min", min, { "case_sensitive,attribute", 0 }, NULL },
    { "max", max, { "case_sensitive,attribute", 0 }, NULL },
    { "sum", sum, { "attribute,start", 0 }, NULL },
    { "unique", unique, { "case_sensitive,attribute", 0 }, NULL },
    { "batch", batch, { "linecount,fill_with", 1 }, NULL },
    { "slice", slice, { "slices,fill_with", 1 }, NULL },
    { "map", NULL, { NULL, 0 }, map },
    { "select", NULL, { NULL, 0 }, select_ },
    { "reject", NULL, { NULL, 0 }, reject },
    { "selectattr", NULL, { NULL, 0 }, selectattr },
    { "rejectattr", NULL, { NULL, 0 }, rejectattr },
    { "attr", attr, { "name", 1 }, NULL },
    { "random", NULL, { NULL, 0 }, NULL },
};

const sl_jj_builtin *sl_jj_seq_filter_find(const char *name, size_t len)
{
    return sl_jj_table_find(table, SL_COUNT(table), name, len);
}
