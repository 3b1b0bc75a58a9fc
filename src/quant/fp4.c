/* fp4.c - MXFP4 and NVFP4: 4-bit floats (sign, 2 bits of exponent, 1 of mantissa), whose doubles are whole
 * numbers. MXFP4: 32 share a power of two. NVFP4: 16 share a float of 8 bits.
 * Source: OCP Microscaling Formats (MX) 1.0, sections 5.3.3 and 5.4.1; nibbles as in GGML's Q4_0, in NVFP4 for
 * 16 weights at a time; MXFP4_SPLIT: Transformers, integrations/mxfp4.py, neighbours in a byte, the first one low, and
 * the powers in a tensor of their own. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

#define E8M0_NAN  0xff
#define UE4M3_NAN 0x7f /* the bit above is not used */

const int8_t sl_e2m1_values[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

/* 2^(e - 128): the scale 2^(e - 127), and half for the doubled values. The lowest two are subnormal. */
static float half_of_e8m0(uint8_t e)
{
    return sl_f32_from_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

void sl_group_MXFP4(sl_quant_group *out, const void *src, size_t g)
{
    sl_block_mxfp4 b;
    memcpy(&b, (const uint8_t *)src + g * sizeof b, sizeof b);
    for (size_t i = 0; i < SL_GROUP / 2; i++) {
        out->q[i] = sl_e2m1_values[b.q[i] & 15];
        out->q[i + SL_GROUP / 2] = sl_e2m1_values[b.q[i] >> 4];
    }
    out->d = half_of_e8m0(b.e);
    out->m = 0.0f;
}

bool sl_scale_ok_MXFP4(const void *block)
{
    return *(const uint8_t *)block != E8M0_NAN;
}

static uint8_t split_scale(const sl_tensor *t, size_t r, size_t g)
{
    const sl_scales *s = &t->scales;
    return *((const uint8_t *)s->scale + sl_scales_row(s, r) * s->row_bytes + g * s->col_bytes);
}

void sl_group_MXFP4_SPLIT(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g)
{
    const uint8_t *p = (const uint8_t *)t->data + r * t->row_bytes + g * (SL_GROUP / 2);
    for (size_t i = 0; i < SL_GROUP / 2; i++) {
        out->q[2 * i] = sl_e2m1_values[p[i] & 15];
        out->q[2 * i + 1] = sl_e2m1_values[p[i] >> 4];
    }
    out->d = half_of_e8m0(split_scale(t, r, g));
    out->m = 0.0f;
}

void sl_decode_MXFP4_SPLIT(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    for (size_t k = k0; k < k1; k += SL_GROUP, out += SL_GROUP) {
        sl_quant_group x;
        sl_group_MXFP4_SPLIT(&x, t, r, k / SL_GROUP);
        for (size_t i = 0; i < SL_GROUP; i++)
            out[i] = x.d * (float)x.q[i];
    }
}

bool sl_scale_ok_MXFP4_SPLIT(const sl_tensor *t, size_t r, size_t k)
{
    return split_scale(t, r, k / SL_GROUP) != E8M0_NAN;
}

/* An unsigned E4M3 with bias 7, halved; what is not a number counts as 0. */
static float half_of_ue4m3(uint8_t v)
{
    const uint32_t exponent = v >> 3 & 15, mantissa = v & 7;
    if ((v & 0x7f) == UE4M3_NAN)
        return 0.0f;
    if (exponent == 0)
        return (float)mantissa * 0x1p-10f;
    return sl_f32_from_bits((exponent - 7 - 1 + 127) << 23 | mantissa << 20);
}

void sl_decode_row_NVFP4(float *out, const void *src, size_t n)
{
    enum { BLOCK = 64, SHARED = 16 };
    const uint8_t *p = src;
    for (; n >= BLOCK; n -= BLOCK, out += BLOCK, p += sizeof(sl_block_nvfp4)) {
        sl_block_nvfp4 b;
        memcpy(&b, p, sizeof b);
        for (size_t i = 0; i < BLOCK; i++) {
            const uint8_t byte = b.q[i / SHARED * 8 + i % 8];
            out[i] = half_of_ue4m3(b.d[i / SHARED]) * (float)sl_e2m1_values[i % SHARED < 8 ? byte & 15 : byte >> 4];
        }
    }
}

bool sl_scale_ok_NVFP4(const void *block)
{
    const uint8_t *d = block;
    return (d[0] & 0x7f) != UE4M3_NAN && (d[1] & 0x7f) != UE4M3_NAN && (d[2] & 0x7f) != UE4M3_NAN &&
           (d[3] & 0x7f) != UE4M3_NAN;
}
