#include "formats/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include "base/num.h"
#include "formats/show.h"

#define PATH_MAX_LEN 128

typedef struct reader {
    yaml_parser_t parser;
    sl_yaml_doc *doc;
    const char *bytes; /* [n] */
    size_t n;
    sl_yaml *open[SL_YAML_DEPTH_MAX], *last[SL_YAML_DEPTH_MAX]; /* lists and maps that are not yet closed, their ends */
    const char *key[SL_YAML_DEPTH_MAX];                         /* of the value that comes; NULL: a key comes */
    yaml_mark_t key_at[SL_YAML_DEPTH_MAX];
    size_t depth;
    sl_err *err;
} reader;

/* ---- messages ---------------------------------------------------------------------------------- */

/* "parallel_config.world_size", "model_name[1]", outermost first. */
static void path_of(const sl_yaml *v, char *out, size_t size)
{
    const sl_yaml *up[SL_YAML_DEPTH_MAX + 1];
    size_t n = 0, used = 0;
    for (; v && v->parent && n < SL_COUNT(up); v = v->parent)
        up[n++] = v;
    *out = '\0';
    while (n-- > 0 && used < size) {
        size_t i = 0;
        if (up[n]->key) {
            char shown[SL_SHOW_MAX];
            sl_show(shown, (sl_bytes){ up[n]->key, strlen(up[n]->key) });
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "." : "", shown);
            continue;
        }
        for (const sl_yaml *m = up[n]->parent->first; m != up[n]; m = m->next)
            i++;
        used += (size_t)snprintf(out + used, size - used, "[%zu]", i);
    }
}

/* The path of what is being read: the list or map that is open, and the key whose value comes. */
static void path_here(const reader *r, char *out, size_t size)
{
    const size_t top = r->depth - 1;
    *out = '\0';
    if (!r->depth)
        return;
    path_of(r->open[top], out, size);
    const size_t used = strlen(out);
    if (r->key[top]) {
        char shown[SL_SHOW_MAX];
        sl_show(shown, (sl_bytes){ r->key[top], strlen(r->key[top]) });
        snprintf(out + used, size - used, "%s%s", used ? "." : "", shown);
    }
}

static sl_status fail_at(const reader *r, sl_status code, yaml_mark_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static sl_status fail_at(const reader *r, sl_status code, yaml_mark_t at, const char *fmt, ...)
{
    char path[PATH_MAX_LEN], text[256];
    va_list args;
    path_here(r, path, sizeof path);
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return sl_fail(r->err, code, "%s:%zu:%zu: %s%s%s", r->doc->name, at.line + 1, at.column + 1, path,
                   *path ? ": " : "", text);
}

static sl_status say(const sl_yaml_doc *d, const sl_yaml *at, uint32_t line, uint32_t column, sl_err *err,
                     const char *fmt, va_list args)
{
    char path[PATH_MAX_LEN], text[320];
    path_of(at, path, sizeof path);
    vsnprintf(text, sizeof text, fmt, args);
    return sl_fail(err, SL_EFORMAT, "%s:%u:%u: %s%s%s", d->name, line, column, path, *path ? ": " : "", text);
}

sl_status sl_yaml_fail(const sl_yaml_doc *d, const sl_yaml *at, sl_err *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const sl_status rc = say(d, at, at->at_line, at->at_column, err, fmt, args);
    va_end(args);
    return rc;
}

sl_status sl_yaml_fail_key(const sl_yaml_doc *d, const sl_yaml *at, sl_err *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const sl_status rc = say(d, at, at->line, at->column, err, fmt, args);
    va_end(args);
    return rc;
}

/* Whether the line has a tab before its text, which libyaml has no word for. */
static bool indented_by_tab(const reader *r, size_t line)
{
    const char *p = r->bytes, *end = r->bytes + r->n;
    for (size_t i = 0; i < line && p; i++) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    while (p && p < end && *p == ' ')
        p++;
    return p && p < end && *p == '\t';
}

static sl_status broken(const reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return sl_fail(r->err, SL_ENOMEM, "%s: no memory to read it", r->doc->name);
    if (p->error == YAML_READER_ERROR) { /* it knows the byte only */
        yaml_mark_t at = { 0 };
        for (size_t i = 0; i < SL_MIN(p->problem_offset, r->n); i++) {
            at.line += r->bytes[i] == '\n';
            at.column = r->bytes[i] == '\n' ? 0 : at.column + 1;
        }
        /* It reads ahead of what is taken apart, so the path is not known. */
        return sl_fail(r->err, SL_EFORMAT, "%s:%zu:%zu: %s (byte %zu); UTF-8 text is expected", r->doc->name,
                       at.line + 1, at.column + 1, p->problem, p->problem_offset);
    }
    if (indented_by_tab(r, p->problem_mark.line))
        return fail_at(r, SL_EFORMAT, p->problem_mark, "a tab before the text of the line; YAML indents by spaces");
    return fail_at(r, SL_EFORMAT, p->problem_mark, "%s%s%s", p->problem ? p->problem : "malformed",
                   p->context ? " " : "", p->context ? p->context : "");
}

/* ---- the tree ------------------------------------------------------------------------------------ */

static sl_status no_memory(const reader *r)
{
    return sl_fail(r->err, SL_ENOMEM, "%s: no memory for its values", r->doc->name);
}

static sl_status fail_again(const reader *r, const sl_yaml *first, yaml_mark_t at)
{
    char path[PATH_MAX_LEN];
    path_of(first, path, sizeof path);
    return sl_fail(r->err, SL_EFORMAT, "%s:%zu:%zu: %s: stands here again; it is set in line %u already", r->doc->name,
                   at.line + 1, at.column + 1, path, first->line);
}

/* A key stands before its value: remembered until that comes. */
static sl_status take_key(reader *r, const yaml_event_t *e)
{
    const size_t top = r->depth - 1;
    const char *text = (const char *)e->data.scalar.value;
    if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(text, "<<") == 0)
        return fail_at(r, SL_EUNSUPPORTED, e->start_mark, "merge keys (<<) are not taken here: write the keys out");
    if (!*text)
        return fail_at(r, SL_EFORMAT, e->start_mark, "a key is missing before the colon");
    for (const sl_yaml *m = r->open[top]->first; m; m = m->next)
        if (strcmp(m->key, text) == 0)
            return fail_again(r, m, e->start_mark);
    r->key[top] = sl_arena_memdup(&r->doc->arena, text, strlen(text));
    r->key_at[top] = e->start_mark;
    return r->key[top] ? SL_OK : no_memory(r);
}

/* A value into the list or map that is open, or the root. */
static sl_status add(reader *r, const yaml_event_t *e, sl_yaml_kind kind, sl_yaml **out)
{
    sl_yaml *v = sl_arena_alloc(&r->doc->arena, 1, sizeof *v);
    if (!v)
        return no_memory(r);
    v->kind = kind;
    v->at_line = v->line = (uint32_t)e->start_mark.line + 1;
    v->at_column = v->column = (uint32_t)e->start_mark.column + 1;
    *out = v;
    if (!r->depth) {
        r->doc->root = v;
        return kind == SL_YAML_MAP ? SL_OK : fail_at(r, SL_EFORMAT, e->start_mark, "keys with values are expected");
    }
    const size_t top = r->depth - 1;
    sl_yaml *in = r->open[top];
    if (in->n == SL_YAML_MEMBERS_MAX)
        return fail_at(r, SL_EUNSUPPORTED, e->start_mark, "more than %d members", SL_YAML_MEMBERS_MAX);
    in->n++;
    v->parent = in;
    v->key = r->key[top];
    if (v->key) {
        v->line = (uint32_t)r->key_at[top].line + 1;
        v->column = (uint32_t)r->key_at[top].column + 1;
        r->key[top] = NULL;
    }
    if (r->last[top])
        r->last[top]->next = v;
    else
        in->first = v;
    r->last[top] = v;
    return SL_OK;
}

static bool wants_key(const reader *r)
{
    return r->depth && r->open[r->depth - 1]->kind == SL_YAML_MAP && !r->key[r->depth - 1];
}

static sl_status begin(reader *r, const yaml_event_t *e, sl_yaml_kind kind)
{
    sl_yaml *v = NULL;
    if (wants_key(r))
        return fail_at(r, SL_EUNSUPPORTED, e->start_mark, "a list or map as a key; keys are plain text here");
    const sl_status rc = add(r, e, kind, &v);
    if (rc)
        return rc;
    if (r->depth == SL_YAML_DEPTH_MAX)
        return fail_at(r, SL_EUNSUPPORTED, e->start_mark, "nested deeper than %d levels", SL_YAML_DEPTH_MAX);
    r->open[r->depth] = v;
    r->last[r->depth] = NULL;
    r->key[r->depth++] = NULL;
    return SL_OK;
}

static sl_status scalar(reader *r, const yaml_event_t *e)
{
    sl_yaml *v = NULL;
    if (strlen((const char *)e->data.scalar.value) != e->data.scalar.length)
        return fail_at(r, SL_EFORMAT, e->start_mark, "a NUL in a text");
    if (wants_key(r))
        return take_key(r, e);
    const sl_status rc = add(r, e, SL_YAML_SCALAR, &v);
    if (rc)
        return rc;
    v->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    v->text = sl_arena_memdup(&r->doc->arena, e->data.scalar.value, e->data.scalar.length);
    return v->text ? SL_OK : no_memory(r);
}

/* ---- events -------------------------------------------------------------------------------------- */

static sl_status refuse_marks(const reader *r, const yaml_event_t *e, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    char shown[SL_SHOW_MAX];
    const char *text = (const char *)(anchor ? anchor : tag);
    if (!text)
        return SL_OK;
    sl_show(shown, (sl_bytes){ text, strlen(text) });
    return anchor
               ? fail_at(r, SL_EUNSUPPORTED, e->start_mark, "anchors (&%s) are not taken here: write the value", shown)
               : fail_at(r, SL_EUNSUPPORTED, e->start_mark, "tags (%s) are not taken here: each key has its type",
                         shown);
}

static sl_status take(reader *r, const yaml_event_t *e)
{
    sl_status rc = SL_OK;
    char shown[SL_SHOW_MAX];
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return r->doc->root ? fail_at(r, SL_EUNSUPPORTED, e->start_mark, "a second document; one is expected") : SL_OK;
    case YAML_ALIAS_EVENT:
        sl_show(shown, (sl_bytes){ (const char *)e->data.alias.anchor, strlen((const char *)e->data.alias.anchor) });
        return fail_at(r, SL_EUNSUPPORTED, e->start_mark, "aliases (*%s) are not taken here: write the value", shown);
    case YAML_SCALAR_EVENT:
        rc = refuse_marks(r, e, e->data.scalar.anchor, e->data.scalar.tag);
        return rc ? rc : scalar(r, e);
    case YAML_SEQUENCE_START_EVENT:
        rc = refuse_marks(r, e, e->data.sequence_start.anchor, e->data.sequence_start.tag);
        return rc ? rc : begin(r, e, SL_YAML_LIST);
    case YAML_MAPPING_START_EVENT:
        rc = refuse_marks(r, e, e->data.mapping_start.anchor, e->data.mapping_start.tag);
        return rc ? rc : begin(r, e, SL_YAML_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        r->depth--;
        return SL_OK;
    default: /* begin and end of the stream, end of the document */
        return SL_OK;
    }
}

static sl_status read_events(reader *r)
{
    sl_status rc = SL_OK;
    for (bool ended = false; !ended && !rc;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->parser, &e))
            return broken(r);
        ended = e.type == YAML_STREAM_END_EVENT;
        rc = take(r, &e);
        yaml_event_delete(&e);
    }
    if (!rc && !r->doc->root)
        rc = sl_fail(r->err, SL_EFORMAT, "%s: is empty; keys with values are expected", r->doc->name);
    return rc;
}

static sl_status check_bytes(const char *name, const char *bytes, size_t n, sl_err *err)
{
    if (n > SL_YAML_BYTES_MAX)
        return sl_fail(err, SL_EUNSUPPORTED, "%s: %zu bytes; a file of settings has %zu at most", name, n,
                       SL_YAML_BYTES_MAX);
    if (n >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
        return sl_fail(err, SL_EUNSUPPORTED, "%s:1:1: UTF-16; UTF-8 text is expected", name);
    const char *nul = memchr(bytes, 0, n);
    size_t line = 1, column = 1;
    for (const char *p = bytes; nul && p < nul; p++) {
        line += *p == '\n';
        column = *p == '\n' ? 1 : column + 1;
    }
    return nul ? sl_fail(err, SL_EFORMAT, "%s:%zu:%zu: a NUL; UTF-8 text is expected", name, line, column) : SL_OK;
}

sl_status sl_yaml_parse(sl_yaml_doc *d, const char *name, const void *bytes, size_t n, sl_err *err)
{
    *d = (sl_yaml_doc){ .name = name };
    sl_status rc = check_bytes(name, bytes, n, err);
    if (rc)
        return rc;
    reader r = { .doc = d, .bytes = bytes, .n = n, .err = err };
    if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) { /* as editors of Windows begin a file */
        r.bytes += 3;
        r.n -= 3;
    }
    if (!yaml_parser_initialize(&r.parser))
        return sl_fail(err, SL_ENOMEM, "%s: no memory to read it", name);
    sl_arena_init(&d->arena, 1 << 12);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.bytes, r.n);
    rc = read_events(&r);
    yaml_parser_delete(&r.parser);
    if (rc)
        sl_yaml_fini(d);
    return rc;
}

void sl_yaml_fini(sl_yaml_doc *d)
{
    sl_arena_fini(&d->arena);
    *d = (sl_yaml_doc){ 0 };
}

const sl_yaml *sl_yaml_get(const sl_yaml *map, const char *key)
{
    for (const sl_yaml *m = map && map->kind == SL_YAML_MAP ? map->first : NULL; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}

/* ---- scalars --------------------------------------------------------------------------------------- */

static bool among(const char *text, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

static bool is_plain(const sl_yaml *v)
{
    return v->kind == SL_YAML_SCALAR && v->plain;
}

static size_t digits(const char *p)
{
    return strspn(p, "0123456789");
}

/* Decimal digits, perhaps a sign, no leading zero. */
static bool is_whole(const char *text)
{
    const char *p = text + (*text == '-' || *text == '+');
    return digits(p) && !p[digits(p)] && !(p[0] == '0' && p[1]);
}

bool sl_yaml_int(const sl_yaml *v, int64_t *out)
{
    if (!is_plain(v))
        return false;
    if (!is_whole(v->text))
        return false;
    errno = 0;
    *out = strtoll(v->text, NULL, 10);
    return !errno;
}

bool sl_yaml_real(const sl_yaml *v, double *out)
{
    int64_t whole = 0;
    if (sl_yaml_int(v, &whole)) {
        *out = (double)whole;
        return true;
    }
    if (!is_plain(v))
        return false;
    const char *p = v->text + (*v->text == '-' || *v->text == '+');
    const size_t before = digits(p);
    if (before > 1 && *p == '0')
        return false;
    p += before;
    const size_t after = *p == '.' ? digits(p + 1) : 0;
    p += *p == '.' ? 1 + after : 0;
    if (!before && !after)
        return false;
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '-' || p[1] == '+');
        if (!digits(p))
            return false;
        p += digits(p);
    }
    *out = strtod(v->text, NULL);
    return !*p && isfinite(*out);
}

bool sl_yaml_bool(const sl_yaml *v, bool *out)
{
    static const char *const yes[] = { "true", "True", "TRUE", NULL }, *const no[] = { "false", "False", "FALSE",
                                                                                       NULL };
    if (!is_plain(v) || !(among(v->text, yes) || among(v->text, no)))
        return false;
    *out = among(v->text, yes);
    return true;
}

bool sl_yaml_null(const sl_yaml *v)
{
    static const char *const none[] = { "", "~", "null", "Null", "NULL", NULL };
    return is_plain(v) && among(v->text, none);
}

/* Digits in a form that YAML 1.1 reads as another number than YAML 1.2, or that only one of them reads. */
static const char *odd_number(const char *text)
{
    const char *p = text + (*text == '-' || *text == '+');
    if (p[0] == '0' && p[1] && strchr("xXoObB", p[1]))
        return "a number of another base; write it in decimal digits";
    if (p[0] == '0' && digits(p) > 1 && !p[digits(p)])
        return "a number with a leading zero, octal to some readers; write it without";
    if (digits(p) && p[digits(p)] == '_')
        return "digits with an underscore; write them without";
    if (digits(p) && p[digits(p)] == ':' && digits(p + digits(p) + 1))
        return "a number in base 60 to some readers (1:30 is 90); put a text in quotes";
    if (strcmp(p, ".inf") == 0 || strcmp(p, ".Inf") == 0 || strcmp(p, ".INF") == 0 || strcmp(text, ".nan") == 0 ||
        strcmp(text, ".NaN") == 0 || strcmp(text, ".NAN") == 0)
        return "no finite number";
    return NULL;
}

bool sl_yaml_odd(const sl_yaml *v)
{
    return is_plain(v) && odd_number(v->text);
}

const char *sl_yaml_is(const sl_yaml *v)
{
    static const char *const yes[] = { "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON",
                                       "off", "Off", "OFF", "y",  "Y",  "n",  "N",  NULL };
    int64_t i = 0;
    double d = 0.0;
    bool b = false;
    if (v->kind != SL_YAML_SCALAR)
        return v->kind == SL_YAML_LIST ? "a list" : "a group of keys";
    if (!v->plain)
        return "text in quotes";
    if (sl_yaml_null(v))
        return "no value";
    if (sl_yaml_bool(v, &b))
        return "a boolean";
    if (among(v->text, yes))
        return "a boolean to some readers of YAML and text to others";
    if (sl_yaml_int(v, &i))
        return "a whole number";
    if (is_whole(v->text))
        return "a whole number of more than 64 bits";
    if (sl_yaml_real(v, &d))
        return "a number";
    const char *odd = odd_number(v->text);
    return odd ? odd : "text";
}
