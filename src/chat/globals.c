/* globals.c - the functions that every template can call. */
#include <stdio.h>
#include <time.h>

#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"

#define TRY        SL_JJ_TRY
#define MAX_FORMAT 512u /* bytes of a date format */

typedef const sl_jj_value *args;

static sl_status range(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)self;
    int64_t a = 0, b = 0, step = 1;
    TRY(sl_jj_arg_int(r, arg[0], 0, &a));
    TRY(sl_jj_arg_int(r, arg[1], 0, &b));
    TRY(sl_jj_arg_int(r, arg[2], 1, &step));
    const bool one = arg[1].kind == SL_JJ_MISSING;
    return sl_jj_range_new(r, one ? 0 : a, one ? a : b, step, out);
}

/* dict(mapping or pairs, **names) */
static sl_status fill_dict(sl_jj_render *r, const char *what, const sl_jj_call *call, sl_jj_dict **out)
{
    TRY(sl_jj_dict_new(r, 0, out));
    if (call->n_pos > 1)
        return sl_jj_fail(r, SL_EFORMAT, "%s takes at most 1 argument, %zu given", what, call->n_pos);
    if (call->n_pos == 1 && call->pos[0].kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, call->pos[0]);
    if (call->n_pos == 1 && call->pos[0].kind == SL_JJ_DICT) {
        const sl_jj_dict *from = call->pos[0].u.dict;
        for (size_t i = 0; i < from->n; i++)
            TRY(sl_jj_dict_set(r, *out, from->pairs[i].key, from->pairs[i].value));
    } else if (call->n_pos == 1) {
        sl_jj_seq *pairs = NULL, *pair = NULL;
        TRY(sl_jj_collect(r, call->pos[0], &pairs));
        for (size_t i = 0; i < pairs->n; i++) {
            TRY(sl_jj_collect(r, pairs->items[i], &pair));
            if (pair->n != 2)
                return sl_jj_fail(r, SL_EFORMAT, "%s wants pairs", what);
            TRY(sl_jj_dict_set(r, *out, pair->items[0], pair->items[1]));
        }
    }
    for (size_t i = 0; i < call->n_kw; i++)
        TRY(sl_jj_dict_set(r, *out, call->kw[i].key, call->kw[i].value));
    return SL_OK;
}

static sl_status dict(sl_jj_render *r, sl_jj_value self, const sl_jj_call *call, sl_jj_value *out)
{
    (void)self;
    sl_jj_dict *d = NULL;
    TRY(fill_dict(r, "dict()", call, &d));
    *out = sl_jj_dict_value(d);
    return SL_OK;
}

sl_status sl_jj_dict_fromkeys(sl_jj_render *r, sl_jj_value self, const sl_jj_value *arg, sl_jj_value *out)
{
    (void)self;
    sl_jj_seq *keys = NULL;
    sl_jj_dict *d = NULL;
    TRY(sl_jj_collect(r, arg[0], &keys));
    TRY(sl_jj_dict_new(r, keys->n, &d));
    for (size_t i = 0; i < keys->n; i++)
        TRY(sl_jj_dict_set(r, d, keys->items[i], arg[1].kind == SL_JJ_MISSING ? sl_jj_none() : arg[1]));
    *out = sl_jj_dict_value(d);
    return SL_OK;
}

sl_status sl_jj_namespace_check(sl_jj_render *r, sl_jj_value name)
{
    if (name.kind != SL_JJ_STR || name.len == 0 || name.u.s[0] != '_')
        return SL_OK;
    return sl_jj_fail(r, SL_EFORMAT, "a namespace cannot have the attribute '%.*s': it begins with _", (int)name.len,
                      name.u.s);
}

static sl_status namespace(sl_jj_render *r, sl_jj_value self, const sl_jj_call *call, sl_jj_value *out)
{
    (void)self;
    sl_jj_dict *d = NULL;
    TRY(fill_dict(r, "namespace()", call, &d));
    for (size_t i = 0; i < d->n; i++)
        TRY(sl_jj_namespace_check(r, d->pairs[i].key));
    *out = (sl_jj_value){ .kind = SL_JJ_NAMESPACE, .u.dict = d };
    return SL_OK;
}

static sl_status cycler(sl_jj_render *r, sl_jj_value self, const sl_jj_call *call, sl_jj_value *out)
{
    (void)self;
    sl_jj_cycler *c = NULL;
    if (call->n_pos == 0 || call->n_kw > 0)
        return sl_jj_fail(r, SL_EFORMAT, "cycler: at least one item has to be provided");
    TRY(sl_jj_alloc(r, 1, sizeof *c, &c));
    for (size_t i = 0; i < call->n_pos; i++)
        TRY(sl_jj_seq_push(r, &c->items, call->pos[i]));
    *out = (sl_jj_value){ .kind = SL_JJ_CYCLER, .u.cycler = c };
    return SL_OK;
}

static sl_status joiner(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)self;
    sl_jj_cycler *c = NULL;
    TRY(sl_jj_alloc(r, 1, sizeof *c, &c));
    TRY(sl_jj_seq_push(r, &c->items, arg[0].kind == SL_JJ_MISSING ? sl_jj_text(", ") : arg[0]));
    *out = (sl_jj_value){ .kind = SL_JJ_JOINER, .u.cycler = c };
    return SL_OK;
}

static sl_status raise_exception(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)self;
    (void)out;
    sl_jj_value text = { 0 };
    TRY(sl_jj_to_str(r, arg[0], &text));
    return sl_jj_fail(r, SL_EINVAL, "%.*s", (int)SL_MIN(text.len, 400u), text.u.s);
}

/* Python's datetime has fields that C's strftime lacks or fills differently: %f is microseconds,
 * %z and %Z are empty for a time without a zone. */
static sl_status expand_python(sl_jj_render *r, sl_jj_value fmt, long microseconds, char *out)
{
    size_t n = 0;
    if (fmt.len >= MAX_FORMAT || memchr(fmt.u.s, '\0', fmt.len))
        return sl_jj_fail(r, SL_EUNSUPPORTED, "a date format of %u bytes", fmt.len);
    for (size_t i = 0; i < fmt.len; i++) {
        const char next = fmt.u.s[i] == '%' && i + 1 < fmt.len ? fmt.u.s[i + 1] : '\0';
        if (next == 'f')
            n += (size_t)snprintf(out + n, 8, "%06ld", microseconds);
        else if (next && next != 'z' && next != 'Z') {
            out[n++] = '%';
            out[n++] = next;
        } else if (!next) {
            out[n++] = fmt.u.s[i];
        }
        i += next != '\0';
    }
    out[n] = '\0';
    return SL_OK;
}

static sl_status strftime_now(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)self;
    char fmt[4 * MAX_FORMAT] = "", text[4096] = "";
    struct timespec now = { .tv_sec = (time_t)r->clock };
    struct tm tm = { 0 };
    TRY(sl_jj_want_str(r, "strftime_now()", arg[0]));
    if (!r->clock_pinned)
        clock_gettime(CLOCK_REALTIME, &now);
    const bool ok = r->clock_pinned ? gmtime_r(&now.tv_sec, &tm) != NULL : localtime_r(&now.tv_sec, &tm) != NULL;
    if (!ok)
        return sl_jj_fail(r, SL_EFORMAT, "strftime_now: a time that no calendar has");
    TRY(expand_python(r, arg[0], now.tv_nsec / 1000, fmt));
    /* the format is the template's: strftime writes at most sizeof text and reads nothing else */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const size_t n = fmt[0] ? strftime(text, sizeof text, fmt, &tm) : 0;
#pragma GCC diagnostic pop
    if (n == 0 && fmt[0] && strcmp(fmt, "%p") != 0)
        return sl_jj_fail(r, SL_EUNSUPPORTED, "strftime_now: more than %zu bytes of text", sizeof text);
    return sl_jj_str_copy(r, text, n, out);
}

static const sl_jj_func table[] = {
    { { "range", range, { "start,stop,step,/", 1 }, NULL } },
    { { "dict", NULL, { NULL, 0 }, dict } },
    { { "namespace", NULL, { NULL, 0 }, namespace } },
    { { "cycler", NULL, { NULL, 0 }, cycler } },
    { { "joiner", joiner, { "sep", 0 }, NULL } },
    { { "raise_exception", raise_exception, { "message", 1 }, NULL } },
    { { "strftime_now", strftime_now, { "format", 1 }, NULL } },
    { { "lipsum", NULL, { NULL, 0 }, NULL } },
};

const sl_jj_func *sl_jj_global_find(const char *name, size_t len)
{
    for (size_t i = 0; i < SL_COUNT(table); i++)
        if (strlen(table[i].builtin.name) == len && memcmp(table[i].builtin.name, name, len) == 0)
            return &table[i];
    return NULL;
}
