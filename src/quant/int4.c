/* int4.c - 4 bits with scales beside them, w = scale * (q - zero): rows of nibbles, the first of a byte low.
 * Without zero points zero is 8; they are packed along the rows. Source: compressed-tensors, pack_quantized, whose
 * words of 32 bits hold 8 weights from the lowest bits on. */
#include "quant/formats_in.h"

#include "base/num.h"
#include "quant/scales.h"

static void numbers(int16_t *q, const sl_tensor *t, size_t r, size_t k0, size_t n, unsigned bits)
{
    (void)bits;
    const uint8_t *p = (const uint8_t *)t->data + r * t->row_bytes;
    for (size_t i = 0; i < n; i++)
        q[i] = (k0 + i) % 2 ? p[(k0 + i) / 2] >> 4 : p[(k0 + i) / 2] & 15;
}

void sl_decode_INT4_ANY(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    sl_scales_decode(out, t, r, k0, k1, numbers, 4);
}

void sl_decode_INT4(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    sl_decode_INT4_ANY(out, t, r, k0, k1);
}

void sl_decode_INT4_ZP(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    sl_decode_INT4_ANY(out, t, r, k0, k1);
}

void sl_group_INT4_ZP(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g)
{
    const size_t k = g * SL_GROUP, shared = sl_scales_group(&t->scales, k);
    numbers(out->q, t, r, k, SL_GROUP, 4);
    out->d = sl_scales_at(&t->scales, r, shared);
    out->m = -out->d * (float)sl_scales_zero(&t->scales, r, shared, 4);
}

void sl_group_INT4(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g)
{
    sl_group_INT4_ZP(out, t, r, g);
    for (size_t i = 0; i < SL_GROUP; i++)
        out->q[i] = (int16_t)(out->q[i] - 8);
    out->m = 0.0f;
}
