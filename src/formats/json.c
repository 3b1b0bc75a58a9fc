/* json.c - yajl's events made a tree in an arena. */
#include "formats/json.h"

#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <utf8proc.h>
#include <yajl/yajl_parse.h>
#include "base/num.h"

#define MAX_BYTES   ((size_t)512 << 20)
#define MAX_VALUES  ((size_t)16 << 20) /* 72 bytes each */
#define MAX_DEPTH   64
#define MAX_PATH    200
#define FEW_KEYS    8 /* are compared one with another */
#define CHUNK_BYTES ((size_t)256 << 10)
#define NODES_CHUNK 1024

/* ---- before yajl ------------------------------------------------------------------------ */

static sl_status fail_at_byte(const char *text, size_t at, const char *what, sl_err *err)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
    }
    return sl_fail(err, SL_EFORMAT, "line %zu, byte %zu: %s", line, column, what);
}

static sl_status check_utf8(const char *text, size_t n, sl_err *err)
{
    for (size_t i = 0; i < n;) {
        if (n - i >= 8 && (sl_load_le64(text + i) & 0x8080808080808080u) == 0) {
            i += 8;
            continue;
        }
        utf8proc_int32_t c = 0;
        const utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)text + i, (utf8proc_ssize_t)(n - i), &c);
        if (used <= 0)
            return fail_at_byte(text, i, "not UTF-8", err);
        i += (size_t)used;
    }
    return SL_OK;
}

/* The unit of \uXXXX at p, or -1. */
static long escaped_unit(const char *p, const char *end)
{
    char digits[5] = { 0 };
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    memcpy(digits, p + 2, 4);
    char *stop = NULL;
    const long unit = strtol(digits, &stop, 16);
    return stop == digits + 4 ? unit : -1;
}

/* yajl makes a question mark of half a surrogate pair. Backslashes stand in strings only. */
static sl_status check_surrogates(const char *text, size_t n, sl_err *err)
{
    const char *end = text + n, *p = text;
    while ((p = memchr(p, '\\', (size_t)(end - p)))) {
        const long unit = escaped_unit(p, end);
        const bool high = unit >= 0xd800 && unit < 0xdc00;
        const long second = high ? escaped_unit(p + 6, end) : -1;
        if ((unit >= 0xdc00 && unit < 0xe000) || (high && (second < 0xdc00 || second >= 0xe000)))
            return fail_at_byte(text, (size_t)(p - text), "half of a surrogate pair", err);
        p += high ? 12 : SL_MIN(end - p, 2);
    }
    return SL_OK;
}

/* ---- memory of yajl --------------------------------------------------------------------- */

/* yajl looks at no result of its allocator. So it gets an arena, and where that is out of memory the
 * parse is left by a jump: all that yajl held is in the arena. */
typedef struct parsing {
    sl_json_doc *doc;
    sl_arena scratch;
    jmp_buf no_memory;
    const char *begin, *end;  /* of the text */
    sl_json *at;              /* the open array or object */
    sl_json *last[MAX_DEPTH]; /* newest member of each that is open */
    size_t depth, n_values;
    sl_json *nodes;
    size_t n_nodes; /* left in `nodes` */
    const char *key;
    uint32_t key_len;
    uint64_t seed;
    sl_status rc;
    sl_err *err;
} parsing;

/* The size stands in front of each block, for realloc. */
static void *scratch_alloc(void *ctx, size_t bytes)
{
    parsing *p = ctx;
    size_t room = 0;
    char *block = sl_add_ok(bytes, 16, &room) ? sl_arena_alloc(&p->scratch, room, 1) : NULL;
    if (!block)
        longjmp(p->no_memory, 1);
    memcpy(block, &bytes, sizeof bytes);
    return block + 16;
}

static void *scratch_realloc(void *ctx, void *old, size_t bytes)
{
    size_t had = 0;
    char *block = scratch_alloc(ctx, bytes);
    if (old)
        memcpy(&had, (char *)old - 16, sizeof had);
    if (old)
        memcpy(block, old, SL_MIN(had, bytes));
    return block;
}

static void scratch_free(void *ctx, void *block)
{
    (void)ctx;
    (void)block;
}

/* ---- events ----------------------------------------------------------------------------- */

static int stop(parsing *p, sl_status rc)
{
    p->rc = rc;
    return 0;
}

static sl_json *new_node(parsing *p)
{
    if (p->n_nodes == 0) {
        p->nodes = sl_arena_alloc(&p->doc->arena, NODES_CHUNK, sizeof *p->nodes);
        if (!p->nodes)
            return NULL;
        p->n_nodes = NODES_CHUNK;
    }
    p->n_nodes--;
    return p->nodes++;
}

static sl_json *add(parsing *p, sl_json_kind kind)
{
    if (p->n_values++ >= MAX_VALUES) {
        stop(p, sl_fail(p->err, SL_EUNSUPPORTED, "more than %zu values", MAX_VALUES));
        return NULL;
    }
    sl_json *node = new_node(p);
    if (!node) {
        stop(p, sl_fail(p->err, SL_ENOMEM, "no memory for %zu values", p->n_values));
        return NULL;
    }
    node->kind = (uint8_t)kind;
    node->parent = p->at;
    if (!p->at) {
        p->doc->root = node;
        return node;
    }
    if (p->at->kind == SL_JSON_OBJECT) {
        node->key = p->key;
        node->key_len = p->key_len;
    }
    sl_json **last = &p->last[p->depth - 1];
    if (*last)
        (*last)->next = node;
    else
        p->at->first = node;
    *last = node;
    p->at->n++;
    return node;
}

/* Where the string lies in the text it is borrowed, else (it had escapes) copied. */
static bool keep(parsing *p, const char *s, size_t n, const char **out)
{
    const bool inside = s >= p->begin && s + n <= p->end;
    char *copy = inside ? NULL : sl_arena_alloc(&p->doc->arena, n, 1);
    if (copy)
        memcpy(copy, s, n);
    *out = inside ? s : copy;
    if (!*out)
        stop(p, sl_fail(p->err, SL_ENOMEM, "no memory for a string of %zu bytes", n));
    return *out;
}

static int on_null(void *ctx)
{
    return add(ctx, SL_JSON_NULL) != NULL;
}

static int on_bool(void *ctx, int value)
{
    sl_json *node = add(ctx, SL_JSON_BOOL);
    if (node)
        node->value = value != 0;
    return node != NULL;
}

static int on_text(parsing *p, sl_json_kind kind, const char *s, size_t n)
{
    sl_json *node = add(p, kind);
    if (!node)
        return 0;
    node->text_len = (uint32_t)n;
    return keep(p, s, n, &node->text);
}

static int on_number(void *ctx, const char *s, size_t n)
{
    return on_text(ctx, SL_JSON_NUMBER, s, n);
}

static int on_string(void *ctx, const unsigned char *s, size_t n)
{
    return on_text(ctx, SL_JSON_STRING, (const char *)s, n);
}

static int on_key(void *ctx, const unsigned char *s, size_t n)
{
    parsing *p = ctx;
    p->key_len = (uint32_t)n;
    return keep(p, (const char *)s, n, &p->key);
}

static int open_node(parsing *p, sl_json_kind kind)
{
    if (p->depth == MAX_DEPTH)
        return stop(p, sl_fail(p->err, SL_EUNSUPPORTED, "nested deeper than %d levels", MAX_DEPTH));
    sl_json *node = add(p, kind);
    if (!node)
        return 0;
    p->at = node;
    p->last[p->depth++] = NULL;
    return 1;
}

static int on_open_object(void *ctx)
{
    return open_node(ctx, SL_JSON_OBJECT);
}

static int on_open_array(void *ctx)
{
    return open_node(ctx, SL_JSON_ARRAY);
}

static int close_node(parsing *p)
{
    p->depth--;
    p->at = (sl_json *)p->at->parent; /* made here, and not const yet */
    return 1;
}

static int on_close_array(void *ctx)
{
    return close_node(ctx);
}

/* ---- keys that come twice ----------------------------------------------------------------- */

static bool same_key(const sl_json *a, const sl_json *b)
{
    return a->key_len == b->key_len && memcmp(a->key, b->key, a->key_len) == 0;
}

/* FNV-1a from a seed that no file knows. */
static uint64_t hash_key(uint64_t seed, const sl_json *node)
{
    uint64_t h = seed ^ 0xcbf29ce484222325u;
    for (size_t i = 0; i < node->key_len; i++)
        h = (h ^ (unsigned char)node->key[i]) * 0x100000001b3u;
    h ^= seed >> 7;
    return h ^ h >> 29;
}

static const sl_json *twice_of_few(const sl_json *object)
{
    for (const sl_json *a = object->first; a; a = a->next)
        for (const sl_json *b = object->first; b != a; b = b->next)
            if (same_key(a, b))
                return a;
    return NULL;
}

static sl_status twice_of_many(parsing *p, const sl_json *object, const sl_json **twice)
{
    size_t n_slots = 16;
    while (n_slots < 2 * (size_t)object->n)
        n_slots *= 2;
    const sl_json **slots = sl_mem_zalloc(n_slots, sizeof *slots);
    if (!slots)
        return sl_fail(p->err, SL_ENOMEM, "no memory for an object of %u keys", object->n);
    for (const sl_json *a = object->first; a && !*twice; a = a->next) {
        size_t i = hash_key(p->seed, a) & (n_slots - 1);
        while (slots[i] && !same_key(slots[i], a))
            i = (i + 1) & (n_slots - 1);
        if (slots[i])
            *twice = a;
        slots[i] = a;
    }
    sl_mem_free(slots);
    return SL_OK;
}

static int on_close_object(void *ctx)
{
    parsing *p = ctx;
    const sl_json *twice = NULL;
    if (p->at->n <= FEW_KEYS)
        twice = twice_of_few(p->at);
    else if (twice_of_many(p, p->at, &twice))
        return stop(p, SL_ENOMEM);
    if (twice)
        return stop(p, sl_json_fail(p->err, SL_EFORMAT, twice, "this key comes twice"));
    return close_node(p);
}

/* ---- parse ------------------------------------------------------------------------------ */

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_open_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_close_object,
    .yajl_start_array = on_open_array,
    .yajl_end_array = on_close_array,
};

static sl_status yajl_failed(yajl_handle h, const char *text, size_t n, size_t at, sl_err *err)
{
    char *what = (char *)yajl_get_error(h, 0, (const unsigned char *)text, n);
    what[strcspn(what, "\n")] = '\0';
    return fail_at_byte(text, SL_MIN(at, n), what, err);
}

/* In a function of its own, whose locals the jump may leave in any state. */
static sl_status run_yajl(parsing *p, const char *text, size_t n)
{
    yajl_alloc_funcs memory = { scratch_alloc, scratch_realloc, scratch_free, p };
    if (setjmp(p->no_memory))
        return sl_fail(p->err, SL_ENOMEM, "no memory to parse %zu bytes", n);
    yajl_handle h = yajl_alloc(&callbacks, &memory, p);
    yajl_config(h, yajl_dont_validate_strings, 1); /* check_utf8 is the stricter one */
    yajl_status status = yajl_parse(h, (const unsigned char *)text, n);
    const bool to_the_end = status == yajl_status_ok;
    if (to_the_end)
        status = yajl_complete_parse(h);
    if (p->rc || status == yajl_status_ok)
        return p->rc;
    return yajl_failed(h, text, n, to_the_end ? n : yajl_get_bytes_consumed(h), p->err);
}

sl_status sl_json_parse(sl_json_doc *d, const void *bytes, size_t n, sl_err *err)
{
    *d = (sl_json_doc){ 0 };
    sl_arena_init(&d->arena, CHUNK_BYTES);
    if (n > MAX_BYTES)
        return sl_fail(err, SL_EUNSUPPORTED, "%zu bytes of JSON, more than %zu", n, MAX_BYTES);
    if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        return fail_at_byte(bytes, 0, "a byte order mark, which JSON may not begin with", err);
    sl_status rc = check_utf8(bytes, n, err);
    if (!rc)
        rc = check_surrogates(bytes, n, err);
    if (rc)
        return rc;
    parsing p = { .doc = d, .begin = bytes, .end = (const char *)bytes + n, .err = err };
    sl_arena_init(&p.scratch, 4096);
    if (getrandom(&p.seed, sizeof p.seed, GRND_NONBLOCK) != sizeof p.seed)
        p.seed = 0; /* before the system has entropy: only the defence against chosen collisions is lost */
    rc = run_yajl(&p, bytes, n);
    sl_arena_fini(&p.scratch);
    if (rc)
        sl_json_fini(d);
    return rc;
}

void sl_json_fini(sl_json_doc *d)
{
    sl_arena_fini(&d->arena);
    d->root = NULL;
}

/* ---- errors ----------------------------------------------------------------------------- */

static size_t index_of(const sl_json *node)
{
    size_t i = 0;
    for (const sl_json *n = node->parent->first; n != node; n = n->next)
        i++;
    return i;
}

static void write_path(const sl_json *at, char *out, size_t size)
{
    const sl_json *steps[MAX_DEPTH + 1];
    size_t n = 0, used = 0;
    for (; at->parent; at = at->parent)
        steps[n++] = at;
    out[0] = '\0';
    while (n-- > 0 && used < size) {
        const sl_json *s = steps[n];
        const int wrote =
            s->parent->kind == SL_JSON_ARRAY
                ? snprintf(out + used, size - used, "[%zu]", index_of(s))
                : snprintf(out + used, size - used, "%s%.*s", used ? "." : "", (int)SL_MIN(s->key_len, 60u), s->key);
        if (wrote < 0)
            return;
        used += (size_t)wrote;
    }
    for (char *c = out; *c; c++) /* a key may hold anything, a message is one line */
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

sl_status sl_json_fail(sl_err *err, sl_status code, const sl_json *at, const char *fmt, ...)
{
    char path[MAX_PATH], text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    write_path(at, path, sizeof path);
    return sl_fail(err, code, "%s%s%s", path, *path ? ": " : "", text);
}

/* ---- values ----------------------------------------------------------------------------- */

static const sl_json *find(const sl_json *object, const char *key)
{
    const size_t n = strlen(key);
    if (!object || object->kind != SL_JSON_OBJECT)
        return NULL;
    for (const sl_json *m = object->first; m; m = m->next)
        if (m->key_len == n && memcmp(m->key, key, n) == 0)
            return m;
    return NULL;
}

const sl_json *sl_json_get(const sl_json *object, const char *key)
{
    const sl_json *m = find(object, key);
    return m && m->kind == SL_JSON_NULL ? NULL : m;
}

bool sl_json_is_null(const sl_json *object, const char *key)
{
    const sl_json *m = find(object, key);
    return m && m->kind == SL_JSON_NULL;
}

bool sl_json_is(const sl_json *value, const char *text)
{
    return value && value->kind == SL_JSON_STRING && value->text_len == strlen(text) &&
           memcmp(value->text, text, value->text_len) == 0;
}

bool sl_json_int(const sl_json *value, int64_t *out)
{
    if (value->kind != SL_JSON_NUMBER)
        return false;
    const bool minus = value->text[0] == '-';
    int64_t sum = 0;
    for (size_t i = minus; i < value->text_len; i++) {
        const int digit = value->text[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(sum, (int64_t)10, &sum) ||
            __builtin_add_overflow(sum, (int64_t)digit, &sum))
            return false;
    }
    *out = minus ? -sum : sum;
    return true;
}

bool sl_json_double(const sl_json *value, double *out)
{
    char text[64];
    if (value->kind != SL_JSON_NUMBER || value->text_len >= sizeof text)
        return false;
    memcpy(text, value->text, value->text_len);
    text[value->text_len] = '\0';
    *out = strtod(text, NULL); /* nothing here sets a locale */
    return *out - *out == 0;   /* no infinity */
}

static const char *const kind_names[] = { "null", "a boolean", "a number", "a string", "an array", "an object" };

static sl_status member(const sl_json *object, const char *key, bool required, sl_json_kind kind, const sl_json **out,
                        sl_err *err)
{
    *out = sl_json_get(object, key);
    if (!*out)
        return required ? sl_json_fail(err, SL_EFORMAT, object, "\"%s\" is missing", key) : SL_OK;
    if ((*out)->kind != kind)
        return sl_json_fail(err, SL_EFORMAT, *out, "%s, should be %s", kind_names[(*out)->kind], kind_names[kind]);
    return SL_OK;
}

sl_status sl_json_get_bool(const sl_json *object, const char *key, bool required, bool *out, sl_err *err)
{
    const sl_json *m = NULL;
    const sl_status rc = member(object, key, required, SL_JSON_BOOL, &m, err);
    if (!rc && m)
        *out = m->value;
    return rc;
}

sl_status sl_json_get_int(const sl_json *object, const char *key, bool required, int64_t *out, sl_err *err)
{
    const sl_json *m = NULL;
    const sl_status rc = member(object, key, required, SL_JSON_NUMBER, &m, err);
    if (rc || !m)
        return rc;
    return sl_json_int(m, out) ? SL_OK
                               : sl_json_fail(err, SL_EFORMAT, m, "%.*s is not an integer in range", SL_JSON_SHOWN(m));
}

sl_status sl_json_get_str(const sl_json *object, const char *key, bool required, sl_bytes *out, sl_err *err)
{
    const sl_json *m = NULL;
    const sl_status rc = member(object, key, required, SL_JSON_STRING, &m, err);
    if (!rc && m)
        *out = sl_json_bytes(m);
    return rc;
}

sl_status sl_json_get_list(const sl_json *object, const char *key, bool required, const sl_json **out, sl_err *err)
{
    return member(object, key, required, SL_JSON_ARRAY, out, err);
}

sl_status sl_json_get_object(const sl_json *object, const char *key, bool required, const sl_json **out, sl_err *err)
{
    return member(object, key, required, SL_JSON_OBJECT, out, err);
}

sl_status sl_json_only(const sl_json *object, const char *const *keys, sl_err *err)
{
    for (const sl_json *m = object->first; m; m = m->next) {
        size_t i = 0;
        while (keys[i] && (strlen(keys[i]) != m->key_len || memcmp(keys[i], m->key, m->key_len) != 0))
            i++;
        if (!keys[i])
            return sl_json_fail(err, SL_EUNSUPPORTED, m, "this key is not known");
    }
    return SL_OK;
}
