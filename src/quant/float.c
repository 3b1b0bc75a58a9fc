/* float.c - F32, F16 and BF16: one number after another, no blocks. Widening is exact. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

void sl_decode_row_F32(float *out, const void *src, size_t n)
{
    memcpy(out, src, n * sizeof *out);
}

void sl_decode_row_F16(float *out, const void *src, size_t n)
{
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i++)
        out[i] = sl_f32_from_f16(sl_load_le16(p + 2 * i));
}

void sl_decode_row_BF16(float *out, const void *src, size_t n)
{
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i++)
        out[i] = sl_f32_from_bf16(sl_load_le16(p + 2 * i));
}
