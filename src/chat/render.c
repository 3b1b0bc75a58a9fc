/* render.c - memory, limits and errors of one rendering. */
#include "chat/render_in.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "chat/builtin_in.h"

#define TRY         SL_JJ_TRY
#define LONG_STRING 1024u /* from here on a concatenation leaves room to grow */

sl_status sl_jj_fail(sl_jj_render *r, sl_status code, const char *fmt, ...)
{
    char text[sizeof r->err->msg];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return sl_jj_fail_at(r->t, r->at, r->err, code, "%s", text);
}

sl_status sl_jj_fail_undefined(sl_jj_render *r, sl_jj_value v)
{
    const int n = (int)SL_MIN(v.len, 200u);
    const sl_jj_value owner = { .kind = (uint8_t)v.aux };
    const char *object = v.aux == SL_JJ_NONE ? "" : " object";
    switch (v.flag) {
    case SL_JJ_NO_NAME:
        return sl_jj_fail(r, SL_EFORMAT, "'%.*s' is undefined", n, v.u.s);
    case SL_JJ_NO_ATTR:
        return sl_jj_fail(r, SL_EFORMAT, "'%s%s' has no attribute '%.*s'", sl_jj_type_name(owner), object, n, v.u.s);
    case SL_JJ_NO_ELEMENT:
        return sl_jj_fail(r, SL_EFORMAT, "%s%s has no element %lld", sl_jj_type_name(owner), object, (long long)v.u.i);
    case SL_JJ_UNSAFE:
        return sl_jj_fail(r, SL_EFORMAT, "access to attribute '%.*s' of '%s' object is unsafe", n, v.u.s,
                          sl_jj_type_name(owner));
    default:
        return sl_jj_fail(r, SL_EFORMAT, "%.*s", n, v.u.s);
    }
}

sl_status sl_jj_charge(sl_jj_render *r, size_t bytes)
{
    if (bytes > SL_JJ_MAX_BYTES - r->bytes)
        return sl_jj_fail(r, SL_EFORMAT, "the rendering needs more than %zu MiB of memory", SL_JJ_MAX_BYTES >> 20);
    r->bytes += bytes;
    return SL_OK;
}

sl_status sl_jj_alloc(sl_jj_render *r, size_t n, size_t size, void *out)
{
    size_t bytes = 0;
    TRY(sl_jj_charge(r, sl_mul_ok(n, size, &bytes) ? bytes : SIZE_MAX));
    void *p = sl_arena_alloc(&r->arena, n ? n : 1, size);
    if (!p)
        return sl_fail(r->err, SL_ENOMEM, "template: no memory for %zu bytes", bytes);
    memcpy(out, &p, sizeof p);
    return SL_OK;
}

sl_status sl_jj_step(sl_jj_render *r, size_t n)
{
    r->steps += n;
    if (r->steps > SL_JJ_MAX_STEPS)
        return sl_jj_fail(r, SL_EFORMAT, "the rendering takes more than %u steps", SL_JJ_MAX_STEPS);
    return SL_OK;
}

sl_status sl_jj_enter(sl_jj_render *r)
{
    if (r->depth >= SL_JJ_MAX_DEPTH)
        return sl_jj_fail(r, SL_EFORMAT, "nested more than %u deep", SL_JJ_MAX_DEPTH);
    r->depth++;
    return SL_OK;
}

sl_status sl_jj_buf_add(sl_jj_render *r, sl_jj_buf *b, const char *s, size_t n)
{
    if (n == 0)
        return SL_OK;
    TRY(sl_jj_step(r, n / 16));
    if (n > b->cap - b->n) {
        if (n > SL_JJ_MAX_OUTPUT - b->n)
            return sl_jj_fail(r, SL_EFORMAT, "more than %zu MiB of text", SL_JJ_MAX_OUTPUT >> 20);
        const size_t cap = SL_MAX((size_t)64, SL_MAX(2 * b->cap, b->n + n));
        char *grown = NULL;
        TRY(sl_jj_alloc(r, cap, 1, &grown));
        if (b->n > 0)
            memcpy(grown, b->data, b->n);
        b->data = grown;
        b->cap = cap;
    }
    memcpy(b->data + b->n, s, n);
    b->n += n;
    return SL_OK;
}

sl_status sl_jj_buf_puts(sl_jj_render *r, sl_jj_buf *b, const char *text)
{
    return sl_jj_buf_add(r, b, text, strlen(text));
}

sl_status sl_jj_str_copy(sl_jj_render *r, const char *s, size_t n, sl_jj_value *out)
{
    char *p = NULL;
    TRY(sl_jj_step(r, n / 16));
    TRY(sl_jj_alloc(r, n, 1, &p));
    if (n > 0)
        memcpy(p, s, n);
    *out = sl_jj_str(p, n);
    return SL_OK;
}

/* If the room behind `a` is free, take n bytes of it. */
static bool grow_in_place(sl_jj_render *r, sl_jj_value a, size_t n, char **at)
{
    for (size_t i = 0; i < SL_JJ_GROWTHS; i++) {
        sl_jj_growth *g = &r->growth[i];
        if (g->end && g->end == a.u.s + a.len && (size_t)(g->limit - g->end) >= n) {
            *at = g->end;
            g->end += n;
            return true;
        }
    }
    return false;
}

sl_status sl_jj_str_concat(sl_jj_render *r, sl_jj_value a, sl_jj_value b, sl_jj_value *out)
{
    const size_t n = (size_t)a.len + b.len;
    char *p = NULL;
    if (a.len == 0 || b.len == 0) {
        *out = a.len == 0 ? b : a;
        out->flag = a.flag | b.flag;
        return SL_OK;
    }
    TRY(sl_jj_step(r, b.len / 16));
    if (n > SL_JJ_MAX_OUTPUT)
        return sl_jj_fail(r, SL_EFORMAT, "more than %zu MiB of text", SL_JJ_MAX_OUTPUT >> 20);
    if (a.len >= LONG_STRING && grow_in_place(r, a, b.len, &p)) {
        memcpy(p, b.u.s, b.len);
        p -= a.len;
    } else {
        const size_t cap = n < LONG_STRING ? n : 2 * n;
        TRY(sl_jj_step(r, a.len / 16));
        TRY(sl_jj_alloc(r, cap, 1, &p));
        memcpy(p, a.u.s, a.len);
        memcpy(p + a.len, b.u.s, b.len);
        if (cap > n) {
            r->growth[r->next_growth] = (sl_jj_growth){ p + n, p + cap };
            r->next_growth = (r->next_growth + 1) % SL_JJ_GROWTHS;
        }
    }
    *out = sl_jj_str(p, n);
    out->flag = a.flag | b.flag;
    return SL_OK;
}
