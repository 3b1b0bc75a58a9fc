/* template.c - the public face of the template engine: parse, render, and errors with a place. */
#include "chat/template.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY            SL_JJ_TRY
#define MAX_SOURCE     ((size_t)1 << 20) /* bytes; the largest chat template known has 30 KB */
#define TEMPLATE_CHUNK ((size_t)16 << 10)
#define RENDER_CHUNK   ((size_t)64 << 10)

sl_status sl_jj_template_alloc(sl_template *t, size_t n, size_t size, void *out, sl_err *err)
{
    void *p = sl_arena_alloc(&t->arena, n, size);
    if (!p)
        return sl_fail(err, SL_ENOMEM, "template: no memory for %zu objects of %zu bytes", n, size);
    memcpy(out, &p, sizeof p);
    return SL_OK;
}

sl_status sl_jj_fail_at(const sl_template *t, size_t at, sl_err *err, sl_status code, const char *fmt, ...)
{
    char text[sizeof err->msg];
    size_t line = 1, start = 0;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    at = SL_MIN(at, t->len);
    for (size_t i = 0; i < at; i++)
        if (t->source[i] == '\n') {
            line++;
            start = i + 1;
        }
    return sl_fail(err, code, "line %zu, column %zu: %s", line, sl_jj_utf8_count(t->source + start, at - start) + 1,
                   text);
}

/* \r\n and \r become \n; one newline at the end is dropped. */
static sl_status normalize(sl_template *t, const char *source, size_t len, sl_err *err)
{
    char *copy = NULL;
    size_t n = 0;
    TRY(sl_jj_template_alloc(t, len + 1, 1, &copy, err));
    for (size_t i = 0; i < len; i++) {
        copy[n++] = source[i] == '\r' ? '\n' : source[i];
        if (source[i] == '\r' && i + 1 < len && source[i + 1] == '\n')
            i++;
    }
    if (n > 0 && copy[n - 1] == '\n')
        n--;
    t->source = copy;
    t->len = n;
    return SL_OK;
}

sl_status sl_template_create(sl_template **out, const char *source, size_t len, sl_err *err)
{
    *out = NULL;
    size_t bad = 0;
    if (len > MAX_SOURCE)
        return sl_fail(err, SL_EUNSUPPORTED, "template: %zu bytes, more than %zu", len, MAX_SOURCE);
    if (!sl_jj_utf8_valid(source, len, &bad))
        return sl_fail(err, SL_EFORMAT, "template: byte %zu is not UTF-8", bad);
    sl_template *t = sl_mem_zalloc(1, sizeof *t);
    if (!t)
        return sl_fail(err, SL_ENOMEM, "template: no memory for %zu bytes", sizeof *t);
    sl_arena_init(&t->arena, TEMPLATE_CHUNK);
    sl_status rc = normalize(t, source, len, err);
    if (!rc)
        rc = sl_jj_parse(t, err);
    if (!rc)
        rc = sl_jj_resolve(t, err);
    if (rc)
        sl_template_destroy(t);
    else
        *out = t;
    return rc;
}

void sl_template_destroy(sl_template *t)
{
    if (!t)
        return;
    sl_arena_fini(&t->arena);
    sl_mem_free(t);
}

/* An integer under the name of the function pins its clock: a string would be a variable like any other. */
static sl_status pin_clock(sl_jj_render *r)
{
    const sl_jj_value *pin = NULL;
    TRY(sl_jj_dict_get(r, r->context, sl_jj_text("strftime_now"), &pin));
    r->clock_pinned = pin && pin->kind == SL_JJ_INT;
    r->clock = r->clock_pinned ? pin->u.i : 0;
    return SL_OK;
}

static sl_status run(sl_jj_render *r, const json_t *context)
{
    sl_jj_value vars = { 0 };
    sl_jj_env *env = NULL;
    TRY(sl_jj_from_json(r, context, &vars));
    r->context = vars.u.dict;
    TRY(pin_clock(r));
    TRY(sl_jj_env_new(r, NULL, r->t->root->scope, &env));
    TRY(sl_jj_env_enter(r, env));
    return sl_jj_exec(r, env, &r->t->root->body);
}

sl_status sl_template_render(const sl_template *t, const json_t *context, sl_str *out, sl_err *err)
{
    sl_jj_buf text = { 0 };
    sl_jj_render r = { .t = t, .err = err, .out = &text };
    if (!json_is_object(context))
        return sl_fail(err, SL_EINVAL, "template: the context is no JSON object");
    sl_arena_init(&r.arena, RENDER_CHUNK);
    sl_status rc = run(&r, context);
    if (!rc)
        sl_str_append(out, text.data ? text.data : "", text.n);
    if (!rc && out->failed)
        rc = sl_fail(err, SL_ENOMEM, "template: no memory for %zu bytes of text", text.n);
    json_decref(r.parsed);
    sl_arena_fini(&r.arena);
    return rc;
}
