/* methods.c - methods of dicts, lists and the rest, and which values have which. */
#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"

#define TRY SL_JJ_TRY

typedef const sl_jj_value *args;

static sl_jj_value view_of(sl_jj_value d, uint8_t which)
{
    return (sl_jj_value){ .kind = SL_JJ_VIEW, .flag = which, .u.dict = d.u.dict };
}

static sl_status dict_keys(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)r;
    (void)arg;
    *out = view_of(self, SL_JJ_KEYS);
    return SL_OK;
}
static sl_status dict_values(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)r;
    (void)arg;
    *out = view_of(self, SL_JJ_VALUES);
    return SL_OK;
}
static sl_status dict_items(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)r;
    (void)arg;
    *out = view_of(self, SL_JJ_ITEMS);
    return SL_OK;
}

static sl_status dict_get(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    const sl_jj_value *found = NULL;
    if (!sl_jj_hashable(arg[0]))
        return sl_jj_fail(r, SL_EFORMAT, "unhashable type: '%s'", sl_jj_type_name(arg[0]));
    TRY(sl_jj_dict_get(r, self.u.dict, arg[0], &found));
    *out = found ? *found : arg[1].kind == SL_JJ_MISSING ? sl_jj_none() : arg[1];
    return SL_OK;
}

/* Nothing that a template holds can be changed, so a copy is the thing itself. */
static sl_status copy_self(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)r;
    (void)arg;
    *out = self;
    return SL_OK;
}

static sl_status seq_count(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    int64_t n = 0;
    for (size_t i = 0; i < self.u.seq->n; i++) {
        bool same = false;
        TRY(sl_jj_equal(r, self.u.seq->items[i], arg[0], &same));
        n += same;
    }
    *out = sl_jj_int(n);
    return SL_OK;
}

static sl_status seq_index(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    const int64_t n = (int64_t)self.u.seq->n;
    int64_t from = 0, to = n;
    TRY(sl_jj_arg_int(r, arg[1], 0, &from));
    TRY(sl_jj_arg_int(r, arg[2], n, &to));
    from = from < 0 ? SL_MAX(from + n, (int64_t)0) : from;
    to = to < 0 ? to + n : SL_MIN(to, n);
    for (int64_t i = from; i < to; i++) {
        bool same = false;
        TRY(sl_jj_equal(r, self.u.seq->items[i], arg[0], &same));
        if (same) {
            *out = sl_jj_int(i);
            return SL_OK;
        }
    }
    return sl_jj_fail(r, SL_EFORMAT, "the value is not in the %s", sl_jj_type_name(self));
}

static sl_status range_count(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    bool in = false;
    TRY(sl_jj_contains(r, self, arg[0], &in));
    *out = sl_jj_int(in);
    return SL_OK;
}

static sl_status range_index(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    for (size_t i = 0; i < self.u.range->n; i++) {
        bool same = false;
        TRY(sl_jj_equal(r, sl_jj_range_item(self.u.range, i), arg[0], &same));
        TRY(sl_jj_step(r, 1));
        if (same) {
            *out = sl_jj_int((int64_t)i);
            return SL_OK;
        }
    }
    return sl_jj_fail(r, SL_EFORMAT, "the value is not in the range");
}

static sl_status view_isdisjoint(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    sl_jj_seq *items = NULL;
    bool in = false;
    TRY(sl_jj_collect(r, arg[0], &items));
    for (size_t i = 0; !in && i < items->n; i++)
        TRY(sl_jj_contains(r, self, items->items[i], &in));
    *out = sl_jj_bool(!in);
    return SL_OK;
}

static sl_status is_integer(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)r;
    (void)arg;
    *out = sl_jj_bool(self.u.f >= -0x1p1023 && self.u.f <= 0x1p1023 && __builtin_floor(self.u.f) == self.u.f);
    return SL_OK;
}

static sl_status bit_length(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)r;
    (void)arg;
    const int64_t v = sl_jj_integral(self);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    int64_t n = 0;
    for (; u > 0; u >>= 1)
        n++;
    *out = sl_jj_int(n);
    return SL_OK;
}

static sl_status bit_count(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)r;
    (void)arg;
    const int64_t v = sl_jj_integral(self);
    *out = sl_jj_int(__builtin_popcountll(v < 0 ? 0 - (unsigned long long)v : (unsigned long long)v));
    return SL_OK;
}

/* A truth value is a number here. */
static sl_status int_self(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)r;
    (void)arg;
    *out = sl_jj_int(sl_jj_integral(self));
    return SL_OK;
}

static sl_status int_ratio(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    sl_jj_seq *s = NULL;
    TRY(sl_jj_seq_new(r, 2, &s));
    TRY(sl_jj_seq_push(r, s, sl_jj_int(sl_jj_integral(self))));
    TRY(sl_jj_seq_push(r, s, sl_jj_int(1)));
    *out = sl_jj_seq_value(SL_JJ_TUPLE, s);
    return SL_OK;
}

static sl_status loop_cycle(sl_jj_render *r, sl_jj_value self, const sl_jj_call *call, sl_jj_value *out)
{
    if (call->n_pos == 0 || call->n_kw > 0)
        return sl_jj_fail(r, SL_EFORMAT, "no items for cycling given");
    *out = call->pos[(size_t)self.u.loop->index0 % call->n_pos];
    return SL_OK;
}

static sl_status loop_changed(sl_jj_render *r, sl_jj_value self, const sl_jj_call *call, sl_jj_value *out)
{
    sl_jj_seq *s = NULL;
    bool same = false;
    if (call->n_kw > 0)
        return sl_jj_fail(r, SL_EFORMAT, "changed() takes no keyword arguments");
    TRY(sl_jj_seq_new(r, call->n_pos, &s));
    for (size_t i = 0; i < call->n_pos; i++)
        TRY(sl_jj_seq_push(r, s, call->pos[i]));
    const sl_jj_value now = sl_jj_seq_value(SL_JJ_TUPLE, s);
    TRY(sl_jj_equal(r, self.u.loop->changed, now, &same));
    self.u.loop->changed = now;
    *out = sl_jj_bool(!same);
    return SL_OK;
}

static sl_status cycler_next(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)r;
    (void)arg;
    sl_jj_cycler *c = self.u.cycler;
    *out = c->items.items[c->pos];
    c->pos = (c->pos + 1) % c->items.n;
    return SL_OK;
}

static sl_status cycler_reset(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)r;
    (void)arg;
    self.u.cycler->pos = 0;
    *out = sl_jj_none();
    return SL_OK;
}

static const sl_jj_builtin of_dict[] = {
    { "keys", dict_keys, { "", 0 }, NULL },   { "values", dict_values, { "", 0 }, NULL },
    { "items", dict_items, { "", 0 }, NULL }, { "get", dict_get, { "key,default,/", 1 }, NULL },
    { "copy", copy_self, { "", 0 }, NULL },   { "fromkeys", sl_jj_dict_fromkeys, { "iterable,value,/", 1 }, NULL },
};
static const sl_jj_builtin of_dict_type[] = {
    { "fromkeys", sl_jj_dict_fromkeys, { "iterable,value,/", 1 }, NULL },
};
static const sl_jj_builtin of_list[] = {
    { "count", seq_count, { "value,/", 1 }, NULL },
    { "index", seq_index, { "value,start,stop,/", 1 }, NULL },
    { "copy", copy_self, { "", 0 }, NULL }, /* the last: tuples have none */
};
static const sl_jj_builtin of_range[] = {
    { "count", range_count, { "value,/", 1 }, NULL },
    { "index", range_index, { "value,/", 1 }, NULL },
};
static const sl_jj_builtin of_view[] = {
    { "mapping", NULL, { NULL, 0 }, NULL },
    { "isdisjoint", view_isdisjoint, { "other,/", 1 }, NULL },
};
static const sl_jj_builtin of_float[] = {
    { "is_integer", is_integer, { "", 0 }, NULL },   { "conjugate", copy_self, { "", 0 }, NULL },
    { "as_integer_ratio", NULL, { NULL, 0 }, NULL }, { "hex", NULL, { NULL, 0 }, NULL },
    { "fromhex", NULL, { NULL, 0 }, NULL },
};
static const sl_jj_builtin of_int[] = {
    { "bit_length", bit_length, { "", 0 }, NULL }, { "conjugate", int_self, { "", 0 }, NULL },
    { "bit_count", bit_count, { "", 0 }, NULL },   { "as_integer_ratio", int_ratio, { "", 0 }, NULL },
    { "to_bytes", NULL, { NULL, 0 }, NULL },       { "from_bytes", NULL, { NULL, 0 }, NULL },
};
static const sl_jj_builtin of_loop[] = {
    { "cycle", NULL, { NULL, 0 }, loop_cycle },
    { "changed", NULL, { NULL, 0 }, loop_changed },
};
static const sl_jj_builtin of_cycler[] = {
    { "next", cycler_next, { "", 0 }, NULL },
    { "reset", cycler_reset, { "", 0 }, NULL },
};

const sl_jj_builtin *sl_jj_method_find(sl_jj_value self, const char *name, size_t len)
{
    switch ((sl_jj_kind)self.kind) {
    case SL_JJ_STR:
        return sl_jj_str_method_find(name, len);
    case SL_JJ_DICT:
        return sl_jj_table_find(of_dict, SL_COUNT(of_dict), name, len);
    case SL_JJ_LIST:
        return sl_jj_table_find(of_list, SL_COUNT(of_list), name, len);
    case SL_JJ_TUPLE:
        return sl_jj_table_find(of_list, SL_COUNT(of_list) - 1, name, len);
    case SL_JJ_RANGE:
        return sl_jj_table_find(of_range, SL_COUNT(of_range), name, len);
    case SL_JJ_VIEW: /* values have no isdisjoint */
        return sl_jj_table_find(of_view, self.flag == SL_JJ_VALUES ? 1 : SL_COUNT(of_view), name, len);
    case SL_JJ_FLOAT:
        return sl_jj_table_find(of_float, SL_COUNT(of_float), name, len);
    case SL_JJ_BOOL:
    case SL_JJ_INT:
        return sl_jj_table_find(of_int, SL_COUNT(of_int), name, len);
    case SL_JJ_LOOP:
        return sl_jj_table_find(of_loop, SL_COUNT(of_loop), name, len);
    case SL_JJ_CYCLER:
        return sl_jj_table_find(of_cycler, SL_COUNT(of_cycler), name, len);
    case SL_JJ_FUNC: /* Transformers gives templates a `dict` with this one method */
        return strcmp(self.u.func->builtin.name, "dict") == 0 ? sl_jj_table_find(of_dict_type, 1, name, len) : NULL;
    default:
        return NULL;
    }
}
