/* npy.h - reads NumPy's .npy files (version 1.0, C order, little-endian f32 or i32) for tests. */
#ifndef TESTS_SUPPORT_NPY_H
#define TESTS_SUPPORT_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPY_MAX_DIMS 4

typedef struct npy {
    size_t n_dims, dims[NPY_MAX_DIMS]; /* outermost first; a scalar has no dimensions and one value */
    size_t count;
    float *f32;   /* [count], or NULL where the file holds i32 */
    int32_t *i32; /* [count], or NULL where the file holds f32 */
} npy;

/* False, with the reason on stderr and *out zeroed, when the file is not such an array. */
bool npy_load(npy *out, const char *path);
void npy_free(npy *a);

#endif
