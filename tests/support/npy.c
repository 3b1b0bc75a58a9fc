/* npy.c - see npy.h. Format: NumPy Enhancement Proposal 1, version 1.0: magic, version, a 16-bit
 * header length, a Python dict in ASCII, the values. */
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX_BYTES 10

static bool fail(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    return false;
}

/* The text after 'name': in the dict, NULL when it is not there. */
static const char *field(const char *dict, const char *name)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", name);
    const char *at = strstr(dict, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    return at + strspn(at, " ");
}

static bool read_shape(npy *a, const char *shape)
{
    a->count = 1;
    if (*shape++ != '(')
        return false;
    while (*shape != ')') {
        char *end = NULL;
        const unsigned long long n = strtoull(shape, &end, 10);
        if (end == shape || a->n_dims == NPY_MAX_DIMS || (n && a->count > SIZE_MAX / 8 / n))
            return false;
        a->dims[a->n_dims++] = (size_t)n;
        a->count *= (size_t)n;
        shape = end + strspn(end, ", ");
    }
    return true;
}

static bool read_array(npy *a, const char *path, FILE *f)
{
    unsigned char prefix[PREFIX_BYTES];
    char dict[4096];
    if (fread(prefix, 1, sizeof prefix, f) != sizeof prefix || memcmp(prefix, "\x93NUMPY\x01\x00", 8) != 0)
        return fail(path, "no .npy file of version 1.0");
    const size_t dict_bytes = (size_t)prefix[8] | (size_t)prefix[9] << 8;
    if (dict_bytes >= sizeof dict || fread(dict, 1, dict_bytes, f) != dict_bytes)
        return fail(path, "header cut short or above 4095 bytes");
    dict[dict_bytes] = '\0';

    const char *descr = field(dict, "descr"), *order = field(dict, "fortran_order"), *shape = field(dict, "shape");
    if (!descr || !order || strncmp(order, "False", 5) != 0 || !shape || !read_shape(a, shape))
        return fail(path, "no array in C order of at most 4 dimensions");
    const bool is_f32 = strncmp(descr, "'<f4'", 5) == 0;
    if (!is_f32 && strncmp(descr, "'<i4'", 5) != 0)
        return fail(path, "neither <f4 nor <i4");

    void *data = malloc(a->count * 4 + 1);
    if (!data)
        return fail(path, "not enough memory");
    if (is_f32)
        a->f32 = data;
    else
        a->i32 = data;
    if (fread(data, 4, a->count, f) != a->count || fgetc(f) != EOF)
        return fail(path, "the values are not as many as the shape says");
    return true;
}

bool npy_load(npy *out, const char *path)
{
    *out = (npy){ 0 };
    FILE *f = fopen(path, "rb");
    if (!f)
        return fail(path, "cannot be opened");
    const bool ok = read_array(out, path, f);
    fclose(f);
    if (!ok)
        npy_free(out);
    return ok;
}

void npy_free(npy *a)
{
    free(a->f32);
    free(a->i32);
    *a = (npy){ 0 };
}
