/* gguf_build.c - see gguf_build.h. */
#include "gguf_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_TENSORS_AT 8
#define N_KEYS_AT    16

static void need(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(99);
    }
}

gguf_build *gb_raw(gguf_build *b, const void *bytes, size_t n)
{
    if (b->cap - b->n < n) {
        b->cap = 2 * b->cap + n;
        b->bytes = realloc(b->bytes, b->cap);
        need(b->bytes != NULL, "gguf_build");
    }
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    return b;
}

static gguf_build *field(gguf_build *b, const void *bytes, size_t n)
{
    if (b->n_fields == b->cap_fields) {
        b->cap_fields = 2 * b->cap_fields + 64;
        b->fields = realloc(b->fields, b->cap_fields * sizeof *b->fields);
        need(b->fields != NULL, "gguf_build");
    }
    b->fields[b->n_fields++] = (gb_field){ .at = b->n, .bytes = n };
    return gb_raw(b, bytes, n);
}

gguf_build *gb_u8(gguf_build *b, uint8_t v)
{
    return gb_raw(b, &v, sizeof v);
}

gguf_build *gb_u32(gguf_build *b, uint32_t v)
{
    return field(b, &v, sizeof v);
}

gguf_build *gb_u64(gguf_build *b, uint64_t v)
{
    return field(b, &v, sizeof v);
}

gguf_build *gb_f32(gguf_build *b, float v)
{
    return gb_raw(b, &v, sizeof v);
}

gguf_build *gb_str(gguf_build *b, const char *s)
{
    gb_u64(b, strlen(s));
    return gb_raw(b, s, strlen(s));
}

gguf_build *gb_begin(gguf_build *b, uint32_t version)
{
    gb_raw(b, "GGUF", 4);
    gb_u32(b, version);
    gb_u64(b, 0);
    return gb_u64(b, 0);
}

gguf_build *gb_key(gguf_build *b, const char *name, uint32_t type)
{
    b->n_keys++;
    gb_str(b, name);
    return gb_u32(b, type);
}

gguf_build *gb_array(gguf_build *b, const char *name, uint32_t elem, uint64_t n)
{
    gb_key(b, name, SL_GGUF_ARRAY);
    gb_u32(b, elem);
    return gb_u64(b, n);
}

gguf_build *gb_strs(gguf_build *b, const char *name, const char *const *list, size_t n)
{
    gb_array(b, name, SL_GGUF_STR, n);
    for (size_t i = 0; i < n; i++)
        gb_str(b, list[i]);
    return b;
}

gguf_build *gb_key_u32(gguf_build *b, const char *name, uint32_t v)
{
    return gb_u32(gb_key(b, name, SL_GGUF_U32), v);
}

gguf_build *gb_key_str(gguf_build *b, const char *name, const char *v)
{
    return gb_str(gb_key(b, name, SL_GGUF_STR), v);
}

gguf_build *gb_tensor(gguf_build *b, const char *name, uint32_t type, uint64_t offset, uint32_t n_dims,
                      const uint64_t *dims)
{
    b->n_tensors++;
    gb_str(b, name);
    gb_u32(b, n_dims);
    for (uint32_t d = 0; d < n_dims; d++)
        gb_u64(b, dims[d]);
    gb_u32(b, type);
    return gb_u64(b, offset);
}

gguf_build *gb_finish(gguf_build *b, size_t data_bytes)
{
    memcpy(b->bytes + N_TENSORS_AT, &b->n_tensors, sizeof b->n_tensors);
    memcpy(b->bytes + N_KEYS_AT, &b->n_keys, sizeof b->n_keys);
    while (b->n % 32)
        gb_u8(b, 0);
    for (size_t i = 0; i < data_bytes; i++)
        gb_u8(b, (uint8_t)(i * 37));
    return b;
}

const char *gb_path(gguf_build *b)
{
    if (!b->fd) {
        b->fd = memfd_create("gguf_build", MFD_CLOEXEC);
        need(b->fd > 0, "memfd_create");
        snprintf(b->path, sizeof b->path, "/proc/self/fd/%d", b->fd);
    }
    need(ftruncate(b->fd, 0) == 0 && pwrite(b->fd, b->bytes, b->n, 0) == (ssize_t)b->n, "memfd");
    return b->path;
}

void gb_free(gguf_build *b)
{
    if (b->fd)
        close(b->fd);
    free(b->bytes);
    free(b->fields);
    *b = (gguf_build){ 0 };
}
