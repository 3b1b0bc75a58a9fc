/* int8.c - 8 bits with scales beside them, w = scale * (q - zero): rows of bytes. With an offset or zero points they
 * are unsigned (compressed-tensors, pack_quantized: zero is 128 without zero points), else signed (its int_quantized,
 * naive_quantized). */
#include "quant/formats_in.h"

#include "base/num.h"
#include "quant/scales.h"

static void numbers(int16_t *q, const sl_tensor *t, size_t r, size_t k0, size_t n, unsigned bits)
{
    (void)bits;
    const uint8_t *p = (const uint8_t *)t->data + r * t->row_bytes + k0;
    const bool is_signed = !t->scales.zero && !t->scales.offset;
    for (size_t i = 0; i < n; i++)
        q[i] = is_signed ? (int8_t)p[i] : p[i];
}

void sl_decode_INT8_ANY(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    sl_scales_decode(out, t, r, k0, k1, numbers, 8);
}

void sl_decode_INT8(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    sl_decode_INT8_ANY(out, t, r, k0, k1);
}

void sl_decode_INT8_TOKEN(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    sl_decode_INT8_ANY(out, t, r, k0, k1);
}

void sl_group_INT8(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g)
{
    sl_scales_take_group(out, t, r, g, numbers, 8);
}
