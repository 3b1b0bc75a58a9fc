/* iter.c - walking over values, lazily where Python is lazy. */
#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY       SL_JJ_TRY
#define MAX_RANGE 100000u /* of Jinja's sandbox */

bool sl_jj_iterable(sl_jj_value v)
{
    switch ((sl_jj_kind)v.kind) {
    case SL_JJ_UNDEFINED:
    case SL_JJ_STR:
    case SL_JJ_LIST:
    case SL_JJ_TUPLE:
    case SL_JJ_DICT:
    case SL_JJ_VIEW:
    case SL_JJ_RANGE:
    case SL_JJ_ITER:
    case SL_JJ_LOOP:
        return true;
    default:
        return false;
    }
}

sl_jj_value sl_jj_range_item(const sl_jj_range *range, size_t i)
{
    return sl_jj_int(range->start + (int64_t)i * range->step);
}

sl_status sl_jj_range_new(sl_jj_render *r, int64_t start, int64_t stop, int64_t step, sl_jj_value *out)
{
    sl_jj_range *range = NULL;
    if (step == 0)
        return sl_jj_fail(r, SL_EFORMAT, "range() step must not be zero");
    TRY(sl_jj_alloc(r, 1, sizeof *range, &range));
    const uint64_t gap = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    const uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    const bool any = step > 0 ? stop > start : start > stop;
    const uint64_t n = any ? (gap - 1) / stride + 1 : 0;
    if (n > MAX_RANGE)
        return sl_jj_fail(r, SL_EFORMAT, "range too big: more than %u items", MAX_RANGE);
    *range = (sl_jj_range){ start, stop, step, (size_t)n };
    *out = (sl_jj_value){ .kind = SL_JJ_RANGE, .u.range = range };
    return SL_OK;
}

static sl_status pair_value(sl_jj_render *r, sl_jj_value a, sl_jj_value b, sl_jj_value *out)
{
    sl_jj_seq *s = NULL;
    TRY(sl_jj_seq_new(r, 2, &s));
    s->items[0] = a;
    s->items[1] = b;
    s->n = 2;
    *out = sl_jj_seq_value(SL_JJ_TUPLE, s);
    return SL_OK;
}

sl_status sl_jj_view_item(sl_jj_render *r, sl_jj_value view, size_t i, sl_jj_value *out)
{
    const sl_jj_pair *p = &view.u.dict->pairs[i];
    if (view.flag == SL_JJ_ITEMS)
        return pair_value(r, p->key, p->value, out);
    *out = view.flag == SL_JJ_KEYS ? p->key : p->value;
    return SL_OK;
}

/* Items pos, pos + step, ... of what has an index; `end` of them are left. */
static sl_status next_indexed(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done)
{
    *done = it->end == 0;
    if (*done)
        return SL_OK;
    const size_t i = it->pos;
    it->end--;
    it->pos += (size_t)it->step;
    switch ((sl_jj_kind)it->from.kind) {
    case SL_JJ_LIST:
    case SL_JJ_TUPLE:
        *out = it->from.u.seq->items[i];
        return SL_OK;
    case SL_JJ_RANGE:
        *out = sl_jj_range_item(it->from.u.range, i);
        return SL_OK;
    case SL_JJ_DICT:
        *out = it->from.u.dict->pairs[i].key;
        return SL_OK;
    default:
        return sl_jj_view_item(r, it->from, i, out);
    }
}

/* The characters of a string; pos is in bytes. Backwards, pos is behind the next one. */
static sl_status next_char(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done)
{
    (void)r;
    const sl_jj_value s = it->from;
    *done = it->step > 0 ? it->pos >= s.len : it->pos == 0;
    if (*done)
        return SL_OK;
    size_t w = 0;
    if (it->step > 0) {
        w = sl_jj_utf8_width((unsigned char)s.u.s[it->pos]);
        *out = sl_jj_str(s.u.s + it->pos, w);
        it->pos += w;
    } else {
        w = sl_jj_utf8_last(s.u.s, it->pos);
        it->pos -= w;
        *out = sl_jj_str(s.u.s + it->pos, w);
    }
    return SL_OK;
}

static sl_status next_nothing(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done)
{
    (void)r;
    (void)it;
    (void)out;
    *done = true;
    return SL_OK;
}

sl_status sl_jj_iter_new(sl_jj_render *r, sl_jj_next_fn *next, sl_jj_value from, sl_jj_iter **out)
{
    TRY(sl_jj_alloc(r, 1, sizeof **out, out));
    (*out)->next = next;
    (*out)->from = from;
    (*out)->step = 1;
    return SL_OK;
}

sl_status sl_jj_iter_open(sl_jj_render *r, sl_jj_value v, sl_jj_iter **out)
{
    switch ((sl_jj_kind)v.kind) {
    case SL_JJ_ITER:
        *out = v.u.iter;
        return SL_OK;
    case SL_JJ_UNDEFINED:
        return sl_jj_iter_new(r, next_nothing, v, out);
    case SL_JJ_STR:
        return sl_jj_iter_new(r, next_char, v, out);
    case SL_JJ_LIST:
    case SL_JJ_TUPLE:
    case SL_JJ_DICT:
    case SL_JJ_VIEW:
    case SL_JJ_RANGE:
        TRY(sl_jj_iter_new(r, next_indexed, v, out));
        return sl_jj_length(r, v, &(*out)->end);
    case SL_JJ_LOOP:
        return sl_jj_fail(r, SL_EUNSUPPORTED, "walking over 'loop' itself");
    default:
        return sl_jj_fail(r, SL_EFORMAT, "'%s' object is not iterable", sl_jj_type_name(v));
    }
}

sl_status sl_jj_iter_reversed(sl_jj_render *r, sl_jj_value v, sl_jj_iter **out)
{
    *out = NULL;
    switch ((sl_jj_kind)v.kind) {
    case SL_JJ_UNDEFINED:
        return sl_jj_iter_new(r, next_nothing, v, out);
    case SL_JJ_STR:
        TRY(sl_jj_iter_new(r, next_char, v, out));
        (*out)->step = -1;
        (*out)->pos = v.len;
        return SL_OK;
    case SL_JJ_LIST:
    case SL_JJ_TUPLE:
    case SL_JJ_DICT:
    case SL_JJ_VIEW:
    case SL_JJ_RANGE:
        TRY(sl_jj_iter_open(r, v, out));
        (*out)->step = -1;
        (*out)->pos = (*out)->end - 1; /* not looked at when there is nothing */
        return SL_OK;
    default:
        return SL_OK;
    }
}

sl_status sl_jj_iter_next(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done)
{
    TRY(sl_jj_step(r, 1));
    TRY(sl_jj_enter(r));
    TRY(it->next(r, it, out, done));
    sl_jj_leave(r);
    return SL_OK;
}

sl_status sl_jj_collect(sl_jj_render *r, sl_jj_value v, sl_jj_seq **out)
{
    sl_jj_iter *it = NULL;
    sl_jj_value item = { 0 };
    bool done = false;
    TRY(sl_jj_iter_open(r, v, &it));
    TRY(sl_jj_seq_new(r, 0, out));
    for (;;) {
        TRY(sl_jj_iter_next(r, it, &item, &done));
        if (done)
            return SL_OK;
        TRY(sl_jj_seq_push(r, *out, item));
    }
}

sl_status sl_jj_attr_path(sl_jj_render *r, sl_jj_value v, sl_jj_value path, sl_jj_value fallback, sl_jj_value *out)
{
    const bool replaces = fallback.kind != SL_JJ_MISSING && fallback.kind != SL_JJ_NONE;
    if (path.kind == SL_JJ_NONE || path.kind == SL_JJ_MISSING) {
        *out = v;
        return SL_OK;
    }
    if (path.kind != SL_JJ_STR) {
        TRY(sl_jj_item(r, v, path, &v));
        *out = replaces && v.kind == SL_JJ_UNDEFINED ? fallback : v;
        return SL_OK;
    }
    for (size_t at = 0, end = 0; at <= path.len; at = end + 1) {
        const char *dot = memchr(path.u.s + at, '.', path.len - at);
        end = dot ? (size_t)(dot - path.u.s) : path.len;
        sl_jj_value part = sl_jj_str(path.u.s + at, end - at);
        bool digits = part.len > 0, over = false;
        for (size_t i = 0; i < part.len; i++)
            digits &= part.u.s[i] >= '0' && part.u.s[i] <= '9';
        int64_t index = 0;
        if (digits && sl_jj_parse_int(part.u.s, part.len, 10, &index, &over))
            part = sl_jj_int(index);
        TRY(sl_jj_item(r, v, part, &v));
        if (replaces && v.kind == SL_JJ_UNDEFINED)
            v = fallback;
    }
    *out = v;
    return SL_OK;
}
