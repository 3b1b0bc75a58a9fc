/* blocks.h - GGML's blocks of 32 weights as they lie in files, shared with kernels/.
 * Source: ggml, ggml-common.h. All little-endian; `d`, `m` are IEEE half floats. */
#ifndef SL_QUANT_BLOCKS_H
#define SL_QUANT_BLOCKS_H

#include <assert.h>
#include <stdint.h>

#define SL_GROUP 32 /* weights, and 8-bit activations, that share a scale */

/* w = d * q[i] */
typedef struct sl_block_q8_0 {
    uint16_t d;
    int8_t q[32];
} sl_block_q8_0;

/* w[i] = d * (low nibble of q[i] - 8), w[i + 16] = d * (high nibble of q[i] - 8) */
typedef struct sl_block_q4_0 {
    uint16_t d;
    uint8_t q[16];
} sl_block_q4_0;

/* the same order, w = d * nibble + m */
typedef struct sl_block_q4_1 {
    uint16_t d, m;
    uint8_t q[16];
} sl_block_q4_1;

static_assert(sizeof(sl_block_q8_0) == 34, "packed");
static_assert(sizeof(sl_block_q4_0) == 18, "packed");
static_assert(sizeof(sl_block_q4_1) == 20, "packed");

#endif
