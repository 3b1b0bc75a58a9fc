/* blocks.h - GGML's blocks as they lie in files, shared with kernels/. What they mean is in the file
 * of each format. Source: ggml, ggml-common.h. All little-endian; `d`, `m`, `dmin` are IEEE half floats. */
#ifndef SL_QUANT_BLOCKS_H
#define SL_QUANT_BLOCKS_H

#include <assert.h>
#include <stdint.h>

#define SL_GROUP 32  /* weights, and 8-bit activations, that share a scale */
#define SL_SUPER 256 /* weights of a super-block, whose groups have small scales of their own */

/* ---- 32 weights ------------------------------------------------------------------ */

typedef struct sl_block_q8_0 {
    uint16_t d;
    int8_t q[32];
} sl_block_q8_0;

typedef struct sl_block_q4_0 {
    uint16_t d;
    uint8_t q[16];
} sl_block_q4_0;

typedef struct sl_block_q4_1 {
    uint16_t d, m;
    uint8_t q[16];
} sl_block_q4_1;

typedef struct sl_block_q5_0 {
    uint16_t d;
    uint8_t high[4]; /* bit i: the fifth bit of weight i */
    uint8_t q[16];
} sl_block_q5_0;

typedef struct sl_block_q5_1 {
    uint16_t d, m;
    uint8_t high[4];
    uint8_t q[16];
} sl_block_q5_1;

typedef struct sl_block_iq4_nl {
    uint16_t d;
    uint8_t q[16];
} sl_block_iq4_nl;

typedef struct sl_block_mxfp4 {
    uint8_t e; /* exponent of the scale */
    uint8_t q[16];
} sl_block_mxfp4;

/* ---- 64 weights ------------------------------------------------------------------ */

typedef struct sl_block_nvfp4 {
    uint8_t d[4]; /* of 16 weights each, as unsigned E4M3 */
    uint8_t q[32];
} sl_block_nvfp4;

/* ---- 256 weights ----------------------------------------------------------------- */

typedef struct sl_block_q2_k {
    uint8_t scale[16]; /* of 16 weights each: scale in the low, minimum in the high nibble */
    uint8_t q[64];
    uint16_t d, dmin;
} sl_block_q2_k;

typedef struct sl_block_q3_k {
    uint8_t high[32]; /* bit g of byte i: the third bit of weight 32 g + i */
    uint8_t q[64];
    uint8_t scale[12]; /* 16 of 6 bits, offset by 32 */
    uint16_t d;
} sl_block_q3_k;

typedef struct sl_block_q4_k {
    uint16_t d, dmin;
    uint8_t scale[12]; /* 8 scales and 8 minima of 6 bits */
    uint8_t q[128];
} sl_block_q4_k;

typedef struct sl_block_q5_k {
    uint16_t d, dmin;
    uint8_t scale[12];
    uint8_t high[32]; /* bit g of byte i: the fifth bit of weight 32 g + i */
    uint8_t q[128];
} sl_block_q5_k;

typedef struct sl_block_q6_k {
    uint8_t low[128]; /* 4 bits */
    uint8_t high[64]; /* 2 bits */
    int8_t scale[16]; /* of 16 weights each */
    uint16_t d;
} sl_block_q6_k;

typedef struct sl_block_iq4_xs {
    uint16_t d;
    uint16_t scale_high;  /* 2 bits for each group */
    uint8_t scale_low[4]; /* 4 bits for each group */
    uint8_t q[128];
} sl_block_iq4_xs;

typedef struct sl_block_tq1_0 {
    uint8_t q[48];   /* 5 digits of base 3 */
    uint8_t rest[4]; /* 4 digits */
    uint16_t d;
} sl_block_tq1_0;

typedef struct sl_block_tq2_0 {
    uint8_t q[64];
    uint16_t d;
} sl_block_tq2_0;

static_assert(sizeof(sl_block_q8_0) == 34, "packed");
static_assert(sizeof(sl_block_q4_0) == 18, "packed");
static_assert(sizeof(sl_block_q4_1) == 20, "packed");
static_assert(sizeof(sl_block_q5_0) == 22, "packed");
static_assert(sizeof(sl_block_q5_1) == 24, "packed");
static_assert(sizeof(sl_block_iq4_nl) == 18, "packed");
static_assert(sizeof(sl_block_mxfp4) == 17, "packed");
static_assert(sizeof(sl_block_nvfp4) == 36, "packed");
static_assert(sizeof(sl_block_q2_k) == 84, "packed");
static_assert(sizeof(sl_block_q3_k) == 110, "packed");
static_assert(sizeof(sl_block_q4_k) == 144, "packed");
static_assert(sizeof(sl_block_q5_k) == 176, "packed");
static_assert(sizeof(sl_block_q6_k) == 210, "packed");
static_assert(sizeof(sl_block_iq4_xs) == 136, "packed");
static_assert(sizeof(sl_block_tq1_0) == 54, "packed");
static_assert(sizeof(sl_block_tq2_0) == 66, "packed");

#endif
