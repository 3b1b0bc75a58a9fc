/* gguf.c - takes a GGUF file apart and checks it.
 *
 * The file is hostile. What it says about its own sizes is only ever compared with the bytes that
 * are left, by subtraction or division; no number from the file is added or multiplied first.
 * Tables grow with what has been read, never by a count that the file states. */
#include "formats/gguf.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include "base/num.h"

#define HEADER_BYTES     24
#define KEY_MIN          14 /* bytes of the shortest setting: length, one letter, type, u8 */
#define TENSOR_MIN       33 /* bytes of the shortest entry: length, one letter, n_dims, one dimension, type, offset */
#define COUNT_MAX        ((uint64_t)1 << 30)
#define KEY_NAME_MAX     65535 /* the specification's limit */
#define TENSOR_NAME_MAX  64    /* the specification's limit */
#define MAX_DIMS         4
#define MAX_NESTING      8 /* arrays in arrays */
#define ALIGNMENT_MIN    8
#define ALIGNMENT_MAX    ((uint64_t)2 << 20) /* a huge page */
#define ALIGNMENT_UNSAID 32

/* --- bytes ------------------------------------------------------------------------------- */

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

static size_t left(const cursor *c)
{
    return (size_t)(c->end - c->at);
}

static const uint8_t *take(cursor *c, uint64_t n)
{
    if (n > left(c))
        return NULL;
    const uint8_t *p = c->at;
    c->at += n;
    return p;
}

static bool take_u32(cursor *c, uint32_t *out)
{
    const uint8_t *p = take(c, 4);
    if (p)
        *out = sl_load_le32(p);
    return p != NULL;
}

static bool take_u64(cursor *c, uint64_t *out)
{
    const uint8_t *p = take(c, 8);
    if (p)
        *out = sl_load_le64(p);
    return p != NULL;
}

/* On failure the length that did not fit, or 0 where even that was cut off, is in out->len. */
static bool take_str(cursor *c, sl_bytes *out)
{
    uint64_t n = 0;
    *out = (sl_bytes){ 0 };
    if (!take_u64(c, &n))
        return false;
    out->len = n;
    out->data = (const char *)take(c, n);
    return out->data != NULL;
}

sl_bytes sl_gguf_next_str(const uint8_t **at)
{
    const sl_bytes s = { .data = (const char *)*at + 8, .len = sl_load_le64(*at) };
    *at += 8 + s.len;
    return s;
}

/* The list with room for one more element, maybe elsewhere; NULL: no memory, the list stays. */
static void *grown(void *list, size_t n, size_t size)
{
    if (n & (n - 1) || n == 1) /* full at 0 and at powers of two from 2 on */
        return list;
    return sl_mem_grow(list, n * size, (n ? 2 * n : 2) * size);
}

/* --- keys -------------------------------------------------------------------------------- */

static sl_status cut_short(const char *what, const char *name, sl_err *err)
{
    return sl_fail(err, SL_EFORMAT, "%s %s: the file ends inside it", what, name);
}

static sl_status check_bools(const uint8_t *p, uint64_t n, const char *name, sl_err *err)
{
    for (uint64_t i = 0; i < n; i++)
        if (p[i] > 1)
            return sl_fail(err, SL_EFORMAT, "key %s: a boolean of value %u", name, p[i]);
    return SL_OK;
}

static sl_status read_type(cursor *c, sl_gguf_type *out, const char *what, const char *name, sl_err *err)
{
    uint32_t type = 0;
    if (!take_u32(c, &type))
        return cut_short("key", name, err);
    if (type >= SL_GGUF_TYPE_COUNT)
        return sl_fail(err, SL_EFORMAT, "key %s: %s %" PRIu32 " is not known", name, what, type);
    *out = (sl_gguf_type)type;
    return SL_OK;
}

static sl_status read_array(cursor *c, sl_gguf_key *k, int depth, const char *name, sl_err *err)
{
    const sl_status rc = read_type(c, &k->elem, "array element type", name, err);
    if (rc)
        return rc;
    if (!take_u64(c, &k->n))
        return cut_short("key", name, err);
    k->value = c->at;
    const size_t bytes = sl_gguf_type_bytes(k->elem), least = bytes ? bytes : k->elem == SL_GGUF_STR ? 8 : 12;
    if (k->n > left(c) / least)
        return sl_fail(err, SL_EFORMAT, "key %s: array of %" PRIu64 " elements, but %zu bytes are left in the file",
                       name, k->n, left(c));
    if (bytes) {
        (void)take(c, k->n * bytes);
        return k->elem == SL_GGUF_BOOL ? check_bools(k->value, k->n, name, err) : SL_OK;
    }
    if (k->elem == SL_GGUF_ARRAY && depth == MAX_NESTING)
        return sl_fail(err, SL_EFORMAT, "key %s: arrays nested deeper than %d", name, MAX_NESTING);
    for (uint64_t i = 0; i < k->n; i++) {
        sl_bytes s;
        sl_gguf_key inner = { 0 };
        if (k->elem == SL_GGUF_ARRAY) {
            const sl_status rc_inner = read_array(c, &inner, depth + 1, name, err);
            if (rc_inner)
                return rc_inner;
        } else if (!take_str(c, &s)) {
            return sl_fail(err, SL_EFORMAT, "key %s: element %" PRIu64 ", a string of %zu bytes, runs past the file",
                           name, i, s.len);
        }
    }
    return SL_OK;
}

static sl_status read_value(cursor *c, sl_gguf_key *k, const char *name, sl_err *err)
{
    const sl_status rc = read_type(c, &k->type, "value type", name, err);
    if (rc)
        return rc;
    if (k->type == SL_GGUF_ARRAY)
        return read_array(c, k, 1, name, err);
    if (k->type == SL_GGUF_STR) {
        sl_bytes s;
        if (!take_str(c, &s))
            return sl_fail(err, SL_EFORMAT, "key %s: a string of %zu bytes runs past the file", name, s.len);
        k->value = (const uint8_t *)s.data;
        k->n = s.len;
        return SL_OK;
    }
    k->value = take(c, sl_gguf_type_bytes(k->type));
    if (!k->value)
        return cut_short("key", name, err);
    return k->type == SL_GGUF_BOOL ? check_bools(k->value, 1, name, err) : SL_OK;
}

static sl_status read_key(cursor *c, size_t i, sl_gguf_key *k, sl_err *err)
{
    char shown[SL_SHOW_MAX];
    if (!take_str(c, &k->name))
        return sl_fail(err, SL_EFORMAT, "key %zu: a name of %zu bytes runs past the file", i, k->name.len);
    if (k->name.len == 0 || k->name.len > KEY_NAME_MAX)
        return sl_fail(err, SL_EFORMAT, "key %zu: a name of %zu bytes, 1 to %d are possible", i, k->name.len,
                       KEY_NAME_MAX);
    sl_show(shown, k->name);
    for (size_t j = 0; j < k->name.len; j++)
        if (k->name.data[j] < ' ' || k->name.data[j] > '~')
            return sl_fail(err, SL_EFORMAT, "key %zu (%s): the name holds the byte 0x%02x, only ASCII is possible", i,
                           shown, (uint8_t)k->name.data[j]);
    return read_value(c, k, shown, err);
}

static sl_bytes key_name(const sl_gguf *g, size_t i)
{
    return g->keys[i].name;
}

static sl_status read_keys(sl_gguf *g, cursor *c, uint64_t n, sl_err *err)
{
    for (uint64_t i = 0; i < n; i++) {
        sl_gguf_key *keys = grown(g->keys, g->n_keys, sizeof *keys);
        if (!keys)
            return sl_fail(err, SL_ENOMEM, "no memory for %zu keys", g->n_keys + 1);
        g->keys = keys;
        sl_gguf_key *k = &keys[g->n_keys++];
        *k = (sl_gguf_key){ 0 };
        const sl_status rc = read_key(c, i, k, err);
        if (rc)
            return rc;
    }
    size_t twice = 0;
    const sl_status rc = sl_gguf_index_build(&g->key_index, g, key_name, g->n_keys, &twice);
    char shown[SL_SHOW_MAX];
    if (rc == SL_EFORMAT)
        return sl_fail(err, rc, "key %s: there twice", sl_show(shown, g->keys[twice].name));
    return rc ? sl_fail(err, rc, "no memory to index %zu keys", g->n_keys) : SL_OK;
}

sl_gguf_key *sl_gguf_find_key(const sl_gguf *g, const char *name)
{
    const size_t i = sl_gguf_index_find(&g->key_index, g, key_name, (sl_bytes){ name, strlen(name) });
    if (i == SL_GGUF_NONE)
        return NULL;
    atomic_store_explicit(&g->keys[i].asked, true, memory_order_relaxed);
    return &g->keys[i];
}

sl_status sl_gguf_add_key(sl_gguf *g, sl_bytes name, sl_gguf_key **out)
{
    size_t twice = 0;
    sl_gguf_key *keys = grown(g->keys, g->n_keys, sizeof *keys);
    if (!keys)
        return SL_ENOMEM;
    g->keys = keys;
    keys[g->n_keys] = (sl_gguf_key){ .name = name, .added = true };
    sl_gguf_index index = { 0 };
    const sl_status rc = sl_gguf_index_build(&index, g, key_name, g->n_keys + 1, &twice);
    if (rc)
        return rc;
    sl_mem_free(g->key_index.slots);
    g->key_index = index;
    *out = &keys[g->n_keys++];
    return SL_OK;
}

static sl_status read_alignment(sl_gguf *g, sl_err *err)
{
    const sl_gguf_key *k = sl_gguf_find_key(g, "general.alignment");
    uint64_t n = 0;
    g->alignment = ALIGNMENT_UNSAID;
    if (!k)
        return SL_OK;
    if (!sl_gguf_type_is_int(k->type))
        return sl_fail(err, SL_EFORMAT, "key general.alignment: of type %s, should be an unsigned number",
                       sl_gguf_type_name(k->type));
    if (!sl_gguf_load_u64(k->type, k->value, &n) || n < ALIGNMENT_MIN || n > ALIGNMENT_MAX || n & (n - 1))
        return sl_fail(err, SL_EFORMAT, "key general.alignment: %" PRIu64 " is no power of two from %d to %" PRIu64, n,
                       ALIGNMENT_MIN, ALIGNMENT_MAX);
    g->alignment = (size_t)n;
    return SL_OK;
}

/* --- tensors ----------------------------------------------------------------------------- */

/* Rows, columns and bytes from the dimensions, none of which may exceed what the file can hold. */
static sl_status read_shape(sl_weight_info *t, const sl_ggml_type *type, size_t file_bytes, sl_err *err)
{
    for (uint32_t d = 0; d < t->n_dims; d++)
        if (t->dims[d] == 0)
            return sl_fail(err, SL_EFORMAT, "tensor %s: dimension %" PRIu32 " is 0", t->name, d);

    if (t->dims[0] / type->block > file_bytes / type->bytes)
        return sl_fail(err, SL_EFORMAT, "tensor %s: dimension 0 is %" PRIu64 ", more than a file of %zu bytes can hold",
                       t->name, t->dims[0], file_bytes);
    if (t->dims[0] % type->block)
        return sl_fail(err, SL_EFORMAT, "tensor %s: rows of %" PRIu64 " elements, %s comes in blocks of %zu", t->name,
                       t->dims[0], type->name, type->block);
    t->tensor.row_bytes = t->dims[0] / type->block * type->bytes;
    t->tensor.cols = t->dims[0];
    t->tensor.rows = 1;
    t->bytes = t->tensor.row_bytes;
    for (uint32_t d = 1; d < t->n_dims; d++) {
        if (t->dims[d] > file_bytes / t->bytes)
            return sl_fail(err, SL_EFORMAT,
                           "tensor %s: dimension %" PRIu32 " is %" PRIu64 ", more than a file of %zu bytes can hold",
                           t->name, d, t->dims[d], file_bytes);
        t->bytes *= t->dims[d];
        t->tensor.rows *= t->dims[d];
    }
    return SL_OK;
}

static sl_status read_tensor_name(sl_gguf *g, cursor *c, size_t i, sl_gguf_tensor *t, sl_err *err)
{
    char shown[SL_SHOW_MAX];
    sl_bytes name;
    if (!take_str(c, &name))
        return sl_fail(err, SL_EFORMAT, "tensor %zu of the list: a name of %zu bytes runs past the file", i, name.len);
    if (name.len == 0 || name.len > TENSOR_NAME_MAX)
        return sl_fail(err, SL_EFORMAT, "tensor %zu of the list (%s): a name of %zu bytes, 1 to %d are possible", i,
                       sl_show(shown, name), name.len, TENSOR_NAME_MAX);
    for (size_t j = 0; j < name.len; j++)
        if ((uint8_t)name.data[j] < ' ' || name.data[j] == 0x7f)
            return sl_fail(err, SL_EFORMAT, "tensor %zu of the list (%s): the name holds a control character", i,
                           sl_show(shown, name));
    t->info.name = sl_arena_strndup(&g->names, name.data, name.len);
    return t->info.name ? SL_OK : sl_fail(err, SL_ENOMEM, "no memory for the names of %zu tensors", i + 1);
}

static sl_status read_tensor(sl_gguf *g, cursor *c, size_t i, sl_gguf_tensor *t, sl_err *err)
{
    sl_weight_info *const w = &t->info;
    uint32_t type = 0;
    const sl_status rc = read_tensor_name(g, c, i, t, err);
    if (rc)
        return rc;
    if (!take_u32(c, &w->n_dims))
        return cut_short("tensor", w->name, err);
    if (w->n_dims == 0 || w->n_dims > MAX_DIMS)
        return sl_fail(err, SL_EFORMAT, "tensor %s: %" PRIu32 " dimensions, 1 to %d are possible", w->name, w->n_dims,
                       MAX_DIMS);
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (!take_u64(c, &w->dims[d]))
            return cut_short("tensor", w->name, err);
    for (uint32_t d = w->n_dims; d < MAX_DIMS; d++)
        w->dims[d] = 1;
    if (!take_u32(c, &type) || !take_u64(c, &t->offset))
        return cut_short("tensor", w->name, err);
    sl_ggml_type known;
    if (!sl_ggml_type_get(type, &known))
        return sl_fail(err, SL_EFORMAT, "tensor %s: type %" PRIu32 " is not known", w->name, type);
    w->type = known.name;
    w->tensor.format = known.format;
    return read_shape(w, &known, g->n_bytes, err);
}

static sl_bytes tensor_name(const sl_gguf *g, size_t i)
{
    return (sl_bytes){ g->tensors[i].info.name, strlen(g->tensors[i].info.name) };
}

static sl_status read_tensors(sl_gguf *g, cursor *c, uint64_t n, sl_err *err)
{
    for (uint64_t i = 0; i < n; i++) {
        sl_gguf_tensor *tensors = grown(g->tensors, g->n_tensors, sizeof *tensors);
        if (!tensors)
            return sl_fail(err, SL_ENOMEM, "no memory for %zu tensors", g->n_tensors + 1);
        g->tensors = tensors;
        sl_gguf_tensor *t = &tensors[g->n_tensors];
        *t = (sl_gguf_tensor){ 0 };
        const sl_status rc = read_tensor(g, c, i, t, err);
        if (rc)
            return rc;
        g->n_tensors++;
    }
    size_t twice = 0;
    const sl_status rc = sl_gguf_index_build(&g->tensor_index, g, tensor_name, g->n_tensors, &twice);
    if (rc == SL_EFORMAT)
        return sl_fail(err, rc, "tensor %s: listed twice", g->tensors[twice].info.name);
    return rc ? sl_fail(err, rc, "no memory to index %zu tensors", g->n_tensors) : SL_OK;
}

sl_gguf_tensor *sl_gguf_find_tensor(const sl_gguf *g, const char *name)
{
    const size_t i = sl_gguf_index_find(&g->tensor_index, g, tensor_name, (sl_bytes){ name, strlen(name) });
    return i == SL_GGUF_NONE ? NULL : &g->tensors[i];
}

/* Where each tensor's bytes lie. The data follows the order of the list, as every writer does it and
 * llama.cpp demands; so two tensors that share bytes show as one that starts too early. */
static sl_status place_tensors(sl_gguf *g, const cursor *c, sl_err *err)
{
    const size_t list_end = (size_t)(c->at - g->bytes);
    const size_t padding = (g->alignment - list_end % g->alignment) % g->alignment;
    if (g->n_tensors == 0)
        return SL_OK;
    if (padding > left(c))
        return sl_fail(err, SL_EFORMAT, "tensor %s: the file ends after the list of tensors, at %zu bytes",
                       g->tensors[0].info.name, g->n_bytes);
    g->data_start = list_end + padding;
    const uint64_t room = g->n_bytes - g->data_start;
    uint64_t used = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        sl_weight_info *t = &g->tensors[i].info;
        const uint64_t offset = g->tensors[i].offset;
        if (offset % g->alignment)
            return sl_fail(err, SL_EFORMAT, "tensor %s: offset %" PRIu64 " is no multiple of the alignment, %zu",
                           t->name, offset, g->alignment);
        if (offset > room || t->bytes > room - offset)
            return sl_fail(err, SL_EFORMAT,
                           "tensor %s: data start %zu, offset %" PRIu64 ", size %" PRIu64
                           " lie outside the file of %zu bytes: cut short or damaged",
                           t->name, g->data_start, offset, t->bytes, g->n_bytes);
        if (offset < used)
            return sl_fail(err, SL_EFORMAT,
                           "tensor %s: offset %" PRIu64 " lies before the end of tensor %s, %" PRIu64
                           "; tensors may not overlap and follow the order of the list",
                           t->name, offset, g->tensors[i - 1].info.name, used);
        t->tensor.data = g->bytes + g->data_start + offset;
        used = offset + t->bytes;
    }
    return SL_OK;
}

/* --- the file ---------------------------------------------------------------------------- */

static sl_status read_header(sl_gguf *g, cursor *c, uint64_t *n_tensors, uint64_t *n_keys, sl_err *err)
{
    if (left(c) < 4 || memcmp(c->at, "GGUF", 4) != 0)
        return sl_gguf_sniff(c->at, left(c), err);
    (void)take(c, 4);
    if (left(c) < HEADER_BYTES - 4)
        return sl_fail(err, SL_EFORMAT, "%zu bytes, the header of a GGUF file has %d", g->n_bytes, HEADER_BYTES);
    (void)take_u32(c, &g->version);
    (void)take_u64(c, n_tensors);
    (void)take_u64(c, n_keys);
    const uint32_t swapped = __builtin_bswap32(g->version);
    if (swapped >= 1 && swapped <= 0xff)
        return sl_fail(err, SL_EUNSUPPORTED, "a big-endian GGUF file; only little-endian ones are supported");
    if (g->version != 2 && g->version != 3)
        return sl_fail(err, SL_EUNSUPPORTED, "GGUF version %" PRIu32 "; versions 2 and 3 are supported", g->version);
    if (*n_tensors > left(c) / TENSOR_MIN || *n_tensors > COUNT_MAX)
        return sl_fail(err, SL_EFORMAT, "tensor count %" PRIu64 " larger than the file of %zu bytes can hold",
                       *n_tensors, g->n_bytes);
    if (*n_keys > left(c) / KEY_MIN || *n_keys > COUNT_MAX)
        return sl_fail(err, SL_EFORMAT, "key count %" PRIu64 " larger than the file of %zu bytes can hold", *n_keys,
                       g->n_bytes);
    return SL_OK;
}

sl_status sl_gguf_parse(sl_gguf *g, const void *bytes, size_t n, sl_err *err)
{
    uint64_t n_tensors = 0, n_keys = 0;
    *g = (sl_gguf){ .bytes = bytes, .n_bytes = n };
    sl_arena_init(&g->names, 4096);
    cursor c = { .at = g->bytes, .end = g->bytes + n };

    sl_status rc = read_header(g, &c, &n_tensors, &n_keys, err);
    if (!rc)
        rc = read_keys(g, &c, n_keys, err);
    if (!rc)
        rc = read_alignment(g, err);
    if (!rc)
        rc = read_tensors(g, &c, n_tensors, err);
    if (!rc)
        rc = place_tensors(g, &c, err);
    if (rc)
        sl_gguf_fini(g);
    return rc;
}

void sl_gguf_fini(sl_gguf *g)
{
    for (size_t i = 0; i < g->n_keys; i++)
        sl_mem_free(g->keys[i].text);
    sl_mem_free(g->keys);
    sl_mem_free(g->tensors);
    sl_mem_free(g->key_index.slots);
    sl_mem_free(g->tensor_index.slots);
    sl_arena_fini(&g->names);
    *g = (sl_gguf){ 0 };
}
