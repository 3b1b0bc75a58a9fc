/* fp8.c - numbers of 8 bits in floating point, E4M3, with scales beside them: w = number * scale. Rows of bytes; a
 * scale may be that of the matrix, of a row, or of a block of rows and columns.
 * Source: Micikevicius et al. 2022, arXiv 2209.05433, section 3: bias 7, no infinities, NaN where all bits but the sign
 * are set. */
#include "quant/formats_in.h"

#include <math.h>
#include "base/num.h"
#include "quant/scales.h"

static float from_e4m3(uint8_t v)
{
    const uint32_t exponent = v >> 3 & 15, mantissa = v & 7;
    float f = sl_f32_from_bits((exponent - 7 + 127) << 23 | mantissa << 20);
    if ((v & 0x7f) == 0x7f)
        f = NAN;
    else if (exponent == 0)
        f = (float)mantissa * 0x1p-9f;
    return v & 0x80 ? -f : f;
}

void sl_decode_F8_E4M3(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    const uint8_t *p = (const uint8_t *)t->data + r * t->row_bytes;
    for (size_t k = k0; k < k1; k++)
        out[k - k0] = from_e4m3(p[k]) * sl_scales_at(&t->scales, r, sl_scales_group(&t->scales, k));
}

void sl_decode_F8_E4M3_128(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    sl_decode_F8_E4M3(out, t, r, k0, k1);
}

void sl_decode_F8_E4M3_UE8M0(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    sl_decode_F8_E4M3(out, t, r, k0, k1);
}

void sl_decode_F8_E4M3_TOKEN(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    sl_decode_F8_E4M3(out, t, r, k0, k1);
}
