#include "formats/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/num.h"
#include "formats/json.h"
#include "formats/show.h"

#define LENGTH_BYTES 8
#define CHUNK_BYTES  ((size_t)16 << 10)

static const struct dtype {
    const char *name;
    size_t bytes;
    sl_format format; /* SL_FORMAT_COUNT: no kernel multiplies it as it is */
} dtypes[] = {
    { "F32", 4, SL_FORMAT_F32 },       { "BF16", 2, SL_FORMAT_BF16 },     { "F16", 2, SL_FORMAT_F16 },
    { "F64", 8, SL_FORMAT_COUNT },     { "F8_E4M3", 1, SL_FORMAT_COUNT }, { "F8_E5M2", 1, SL_FORMAT_COUNT },
    { "F8_E8M0", 1, SL_FORMAT_COUNT }, { "I64", 8, SL_FORMAT_COUNT },     { "I32", 4, SL_FORMAT_COUNT },
    { "I16", 2, SL_FORMAT_COUNT },     { "I8", 1, SL_FORMAT_COUNT },      { "U64", 8, SL_FORMAT_COUNT },
    { "U32", 4, SL_FORMAT_COUNT },     { "U16", 2, SL_FORMAT_COUNT },     { "U8", 1, SL_FORMAT_COUNT },
    { "BOOL", 1, SL_FORMAT_COUNT },
};

/* The data of the file, and the error to fill. */
typedef struct reading {
    const uint8_t *data;
    size_t n_data;
    sl_err *err;
} reading;

/* ---- one tensor ------------------------------------------------------------------------- */

static sl_status read_dtype(const sl_json *entry, const struct dtype **out, sl_err *err)
{
    sl_bytes name = { 0 };
    char shown[SL_SHOW_MAX];
    const sl_status rc = sl_json_get_str(entry, "dtype", true, &name, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < SL_COUNT(dtypes); i++)
        if (strlen(dtypes[i].name) == name.len && memcmp(dtypes[i].name, name.data, name.len) == 0) {
            *out = &dtypes[i];
            return SL_OK;
        }
    return sl_fail(err, SL_EUNSUPPORTED, "dtype \"%s\" is not known", sl_show(shown, name));
}

static bool read_size(const sl_json *number, uint64_t *out)
{
    int64_t v = -1;
    if (!sl_json_int(number, &v) || v < 0)
        return false;
    *out = (uint64_t)v;
    return true;
}

/* Dimensions, rows and columns. A scalar is one row of one column. */
static sl_status read_shape(const sl_json *entry, sl_weight_info *t, sl_err *err)
{
    const sl_json *list = NULL;
    const sl_status rc = sl_json_get_list(entry, "shape", true, &list, err);
    if (rc)
        return rc;
    if (list->n > SL_COUNT(t->dims))
        return sl_fail(err, SL_EUNSUPPORTED, "shape: %u dimensions, more than %zu", list->n, SL_COUNT(t->dims));
    t->n_dims = list->n;
    t->tensor.rows = t->tensor.cols = 1;
    for (size_t d = list->n; d < SL_COUNT(t->dims); d++)
        t->dims[d] = 1;
    size_t i = list->n;
    for (const sl_json *d = list->first; d; d = d->next) {
        if (!read_size(d, &t->dims[--i]))
            return sl_fail(err, SL_EFORMAT, "shape: dimension %zu is no whole number from 0 on", list->n - 1 - i);
        if (i == 0)
            t->tensor.cols = t->dims[0];
        else if (!sl_mul_ok(t->tensor.rows, t->dims[i], &t->tensor.rows))
            return sl_fail(err, SL_EFORMAT, "shape: more elements than an address space has");
    }
    return SL_OK;
}

static sl_status read_offsets(const sl_json *entry, uint64_t *begin, uint64_t *end, sl_err *err)
{
    const sl_json *list = NULL;
    const sl_status rc = sl_json_get_list(entry, "data_offsets", true, &list, err);
    if (rc)
        return rc;
    if (list->n != 2 || !read_size(list->first, begin) || !read_size(list->first->next, end) || *begin > *end)
        return sl_fail(err, SL_EFORMAT, "data_offsets: not two whole numbers, begin and end");
    return SL_OK;
}

static sl_status read_entry(const reading *r, const sl_json *entry, sl_weight_info *t)
{
    static const char *const keys[] = { "dtype", "shape", "data_offsets", NULL };
    const struct dtype *dtype = NULL;
    uint64_t begin = 0, end = 0;
    size_t bytes = 0;
    sl_err *err = r->err;
    sl_status rc;
    if (entry->kind != SL_JSON_OBJECT)
        return sl_fail(err, SL_EFORMAT, "no object with dtype, shape and data_offsets");
    for (const sl_json *m = entry->first; m; m = m->next)
        if (m->kind == SL_JSON_NULL)
            return sl_fail(err, SL_EFORMAT, "a value that is null");
    if ((rc = read_dtype(entry, &dtype, err)) || (rc = read_shape(entry, t, err)) ||
        (rc = read_offsets(entry, &begin, &end, err)))
        return rc;
    for (const sl_json *m = entry->first; m; m = m->next) {
        char shown[SL_SHOW_MAX];
        const sl_bytes key = { m->key, m->key_len };
        size_t i = 0;
        while (keys[i] && (strlen(keys[i]) != key.len || memcmp(keys[i], key.data, key.len) != 0))
            i++;
        if (!keys[i])
            return sl_fail(err, SL_EUNSUPPORTED, "key \"%s\" is not known", sl_show(shown, key));
    }
    t->type = dtype->name;
    t->tensor.format = dtype->format;
    if (!sl_mul_ok(t->tensor.cols, dtype->bytes, &t->tensor.row_bytes) ||
        !sl_mul_ok(t->tensor.row_bytes, t->tensor.rows, &bytes))
        return sl_fail(err, SL_EFORMAT, "shape: more bytes than an address space has");
    if (bytes != end - begin)
        return sl_fail(err, SL_EFORMAT,
                       "shape and dtype %s ask for %zu bytes, data_offsets [%" PRIu64 ", %" PRIu64 "] hold %" PRIu64,
                       dtype->name, bytes, begin, end, end - begin);
    if (end > r->n_data)
        return sl_fail(err, SL_EFORMAT,
                       "ends at byte %" PRIu64 " of the data, of which the file has %zu: cut short or damaged", end,
                       r->n_data);
    t->bytes = bytes;
    t->tensor.data = r->data + begin;
    return SL_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static sl_status read_metadata(const sl_json *m, sl_err *err)
{
    if (m->kind != SL_JSON_OBJECT)
        return sl_fail(err, SL_EFORMAT, "__metadata__: not an object");
    for (const sl_json *v = m->first; v; v = v->next) {
        char shown[SL_SHOW_MAX];
        if (v->kind != SL_JSON_STRING)
            return sl_fail(err, SL_EFORMAT, "__metadata__: \"%s\" is no string",
                           sl_show(shown, (sl_bytes){ v->key, v->key_len }));
    }
    return SL_OK;
}

static bool is_metadata(const sl_json *m)
{
    static const char name[] = "__metadata__";
    return m->key_len == sizeof name - 1 && memcmp(m->key, name, m->key_len) == 0;
}

static sl_status read_tensors(sl_safetensors *s, const reading *r, const sl_json *root)
{
    sl_err *err = r->err;
    s->tensors = sl_arena_alloc(&s->arena, root->n, sizeof *s->tensors);
    if (!s->tensors)
        return sl_fail(err, SL_ENOMEM, "no memory for %u tensors", root->n);
    for (const sl_json *m = root->first; m; m = m->next) {
        char shown[SL_SHOW_MAX];
        const sl_bytes name = { m->key, m->key_len };
        sl_weight_info *t = &s->tensors[s->n];
        sl_status rc = SL_OK;
        if (is_metadata(m)) {
            if ((rc = read_metadata(m, err)))
                return rc;
            continue;
        }
        if (name.len == 0 || memchr(name.data, 0, name.len))
            return sl_fail(err, SL_EFORMAT, "tensor \"%s\": a name that is empty or holds a NUL", sl_show(shown, name));
        if ((rc = read_entry(r, m, t)))
            return sl_fail_in(err, rc, "tensor %s", sl_show(shown, name));
        t->name = sl_arena_strndup(&s->arena, name.data, name.len);
        if (!t->name)
            return sl_fail(err, SL_ENOMEM, "no memory for the names of %u tensors", root->n);
        s->n++;
    }
    return SL_OK;
}

static int by_place(const void *a, const void *b)
{
    const sl_weight_info *x = *(const sl_weight_info *const *)a, *y = *(const sl_weight_info *const *)b;
    const uintptr_t p = (uintptr_t)x->tensor.data, q = (uintptr_t)y->tensor.data;
    return p != q ? (p > q) - (p < q) : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* One behind the other, from the first byte to the last. */
static sl_status check_cover(const sl_safetensors *s, const reading *r)
{
    const sl_weight_info **list = sl_mem_zalloc(s->n, sizeof *list);
    size_t at = 0;
    sl_status rc = SL_OK;
    if (!list)
        return sl_fail(r->err, SL_ENOMEM, "no memory to sort %zu tensors", s->n);
    for (size_t i = 0; i < s->n; i++)
        list[i] = &s->tensors[i];
    qsort(list, s->n, sizeof *list, by_place);
    for (size_t i = 0; i < s->n && !rc; i++) {
        char shown[SL_SHOW_MAX];
        const size_t begin = (size_t)((const uint8_t *)list[i]->tensor.data - r->data);
        if (begin != at)
            rc = sl_fail(r->err, SL_EFORMAT, "tensor %s: begins at byte %zu of the data, but %s %zu",
                         sl_show(shown, (sl_bytes){ list[i]->name, strlen(list[i]->name) }), begin,
                         begin < at ? "overlaps another, which ends at" : "nothing covers the bytes from", at);
        at = begin + (size_t)list[i]->bytes;
    }
    if (!rc && at != r->n_data)
        rc = sl_fail(r->err, SL_EFORMAT, "%zu bytes behind the last tensor belong to none", r->n_data - at);
    sl_mem_free(list);
    return rc;
}

static sl_status parse(sl_safetensors *s, const uint8_t *bytes, size_t n, sl_err *err)
{
    if (n < LENGTH_BYTES)
        return sl_fail(err, SL_EFORMAT, "%zu bytes, no safetensors file", n);
    const uint64_t n_header = sl_load_le64(bytes);
    if (n_header > n - LENGTH_BYTES)
        return sl_fail(err, SL_EFORMAT,
                       "a header of %" PRIu64 " bytes in a file of %zu: no safetensors file, or cut short", n_header,
                       n);
    if (n_header > SL_SAFETENSORS_HEADER_MAX)
        return sl_fail(err, SL_EUNSUPPORTED, "a header of %" PRIu64 " bytes, more than the format's limit of %zu",
                       n_header, SL_SAFETENSORS_HEADER_MAX);
    if (n_header == 0 || bytes[LENGTH_BYTES] != '{')
        return sl_fail(err, SL_EFORMAT, "the header does not begin with {: no safetensors file");
    const reading r = { bytes + LENGTH_BYTES + n_header, n - LENGTH_BYTES - (size_t)n_header, err };
    sl_json_doc doc = { 0 };
    sl_status rc = sl_json_parse(&doc, bytes + LENGTH_BYTES, (size_t)n_header, err);
    if (rc)
        return sl_fail_in(err, rc, "header");
    rc = read_tensors(s, &r, doc.root);
    sl_json_fini(&doc);
    return rc ? rc : check_cover(s, &r);
}

sl_status sl_safetensors_parse(sl_safetensors *s, const void *bytes, size_t n, sl_err *err)
{
    *s = (sl_safetensors){ 0 };
    sl_arena_init(&s->arena, CHUNK_BYTES);
    const sl_status rc = parse(s, bytes, n, err);
    if (rc)
        sl_safetensors_close(s);
    return rc;
}

sl_status sl_safetensors_open(sl_safetensors *s, const char *path, sl_err *err)
{
    sl_file file = { 0 };
    *s = (sl_safetensors){ 0 };
    sl_status rc = sl_file_map(&file, path, err);
    if (!rc)
        rc = sl_safetensors_parse(s, file.bytes, file.n, err);
    if (rc) {
        sl_file_unmap(&file);
        return sl_fail_in(err, rc, "%s", path);
    }
    s->file = file;
    return SL_OK;
}

void sl_safetensors_close(sl_safetensors *s)
{
    sl_arena_fini(&s->arena);
    sl_file_unmap(&s->file);
    s->tensors = NULL;
    s->n = 0;
}
