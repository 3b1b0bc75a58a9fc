/* quant.h - number formats: what stored bits mean. Cold code: the reference that
 * fast panel decoders (kernels/) are tested against, and the check of hostile data. */
#ifndef SL_QUANT_QUANT_H
#define SL_QUANT_QUANT_H

#include <stdbool.h>
#include "base/tensor.h"
#include "quant/blocks.h"

/* 32 weights as whole numbers: w[i] = d * q[i], or d * q[i] + m with minima, rounded after the product and
 * after the sum. |q| <= 4096, so that 32 products with 8-bit activations add up to less than 2^24: exact
 * as s32 and as f32. */
typedef struct sl_quant_group {
    int16_t q[SL_GROUP];
    float d, m; /* m: 0 without minima */
} sl_quant_group;

typedef struct sl_quant {
    sl_format format;
    size_t block; /* elements in a block; a row is a whole number of blocks */
    size_t block_bytes;
    /* out[0 .. k1 - k0) = columns k0 .. k1 of row r, multiples of `block` (k1 may be t->cols). Stored bytes need no
     * alignment. Exact: the publisher's formula in f32. */
    void (*decode)(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1);
    /* Columns 32g .. 32g+31 of row r as whole numbers. NULL: the format has no such groups. */
    void (*group)(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g);
    bool minima; /* of `group`: m counts */
} sl_quant;

const sl_quant *sl_quant_get(sl_format format); /* never NULL for a format of the list */
/* Bytes of a row of n elements; false when n is no multiple of the block, or on overflow. */
bool sl_quant_row_bytes(sl_format format, size_t n, size_t *out);
/* out[0..n) = n elements (whole blocks) at src of a format that has no scales of its own. */
void sl_quant_widen(float *out, sl_format format, const void *src, size_t n);
/* Whether rows r0 .. r1 are finite numbers with sound scales; if not, *row and *col are the first element of the
 * block that is broken. */
bool sl_quant_check(const sl_tensor *t, size_t r0, size_t r1, size_t *row, size_t *col);

#endif
