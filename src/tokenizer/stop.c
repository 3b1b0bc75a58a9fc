/* stop.c - Knuth, Morris and Pratt 1977 for each string. What is kept back is the longest
 * prefix of a stop string that the text ends with, so it needs no buffer: it is that prefix. */
#include "tokenizer/stop.h"

#include <string.h>
#include "base/mem.h"
#include "base/num.h"

typedef struct sl_pattern {
    const char *text;
    size_t len;
    size_t *border; /* [len + 1] border[k]: longest proper prefix of text[0..k) that is its suffix too */
    size_t matched; /* longest prefix that the text so far ends with */
} sl_pattern;

struct sl_stop {
    sl_arena arena;
    sl_pattern *pattern;
    size_t n;
    const char *held; /* [n_held] kept back; the beginning of one of the patterns */
    size_t n_held;
};

static sl_status init_pattern(sl_stop *s, sl_pattern *p, const char *text, sl_err *err)
{
    p->len = strlen(text);
    if (!p->len)
        return sl_fail(err, SL_EINVAL, "a stop string is empty");
    p->text = sl_arena_strndup(&s->arena, text, p->len);
    p->border = sl_arena_alloc(&s->arena, p->len + 1, sizeof *p->border);
    if (!p->text || !p->border)
        return sl_fail(err, SL_ENOMEM, "no memory for a stop string of %zu bytes", p->len);
    for (size_t i = 1, k = 0; i < p->len; i++) {
        while (k && text[i] != text[k])
            k = p->border[k];
        k += text[i] == text[k];
        p->border[i + 1] = k;
    }
    return SL_OK;
}

sl_status sl_stop_create(sl_stop **out, const char *const *strings, size_t n, sl_err *err)
{
    *out = NULL;
    sl_stop *s = sl_mem_zalloc(1, sizeof *s);
    if (!s)
        return sl_fail(err, SL_ENOMEM, "no memory for stop strings");
    sl_arena_init(&s->arena, 4096);
    s->n = n;
    s->pattern = sl_arena_alloc(&s->arena, n, sizeof *s->pattern);
    sl_status rc = s->pattern ? SL_OK : sl_fail(err, SL_ENOMEM, "no memory for %zu stop strings", n);
    for (size_t i = 0; i < n && !rc; i++)
        rc = init_pattern(s, &s->pattern[i], strings[i], err);
    if (rc) {
        sl_stop_destroy(s);
        return rc;
    }
    *out = s;
    return SL_OK;
}

void sl_stop_destroy(sl_stop *s)
{
    if (!s)
        return;
    sl_arena_fini(&s->arena);
    sl_mem_free(s);
}

void sl_stop_reset(sl_stop *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->pattern[i].matched = 0;
    s->n_held = 0;
}

static void advance(sl_pattern *p, char c)
{
    while (p->matched && (p->matched == p->len || c != p->text[p->matched]))
        p->matched = p->border[p->matched];
    p->matched += c == p->text[p->matched];
}

/* The first n bytes of what was held and then `text`. */
static void show(const sl_stop *s, const char *text, size_t n, sl_str *out)
{
    const size_t from_held = SL_MIN(n, s->n_held);
    sl_str_append(out, s->held, from_held);
    sl_str_append(out, text, n - from_held);
}

int sl_stop_feed(sl_stop *s, const char *text, size_t len, sl_str *out)
{
    for (size_t i = 0; i < len; i++) {
        int met = -1;
        for (size_t k = 0; k < s->n; k++) {
            sl_pattern *p = &s->pattern[k];
            advance(p, text[i]);
            if (p->matched == p->len && (met < 0 || p->len > s->pattern[met].len))
                met = (int)k;
        }
        if (met >= 0) {
            show(s, text, s->n_held + i + 1 - s->pattern[met].len, out);
            s->n_held = 0;
            return met;
        }
    }
    const sl_pattern *longest = NULL;
    for (size_t k = 0; k < s->n; k++)
        if (!longest || s->pattern[k].matched > longest->matched)
            longest = &s->pattern[k];
    const size_t keep = longest ? longest->matched : 0;
    show(s, text, s->n_held + len - keep, out);
    s->held = longest ? longest->text : NULL;
    s->n_held = keep;
    return -1;
}

void sl_stop_flush(sl_stop *s, sl_str *out)
{
    sl_str_append(out, s->held, s->n_held);
    sl_stop_reset(s);
}
