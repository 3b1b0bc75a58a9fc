/* quant.h - number formats: what stored bits mean. Cold code: the reference that
 * fast panel decoders (kernels/) are tested against, and the check of hostile data. */
#ifndef SL_QUANT_QUANT_H
#define SL_QUANT_QUANT_H

#include <stdbool.h>
#include "base/tensor.h"

typedef struct sl_quant {
    sl_format format;
    size_t block; /* elements in a block; a row is a whole number of blocks */
    size_t block_bytes;
    /* out[0..n) = the values of n elements (a multiple of `block`) stored at src, which
     * needs no alignment. Exact: the publisher's formula in f32. */
    void (*decode_row)(float *out, const void *src, size_t n);
} sl_quant;

const sl_quant *sl_quant_get(sl_format format); /* never NULL for a format of the list */
/* Bytes of a row of n elements; false when n is no multiple of the block, or on overflow. */
bool sl_quant_row_bytes(sl_format format, size_t n, size_t *out);

#endif
