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

void sl_group_INT4(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g)
{
    sl_scales_take_group(out, t, r, g, numbers, 4);
}
