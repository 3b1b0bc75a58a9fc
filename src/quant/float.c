/* float.c - F32, F16 and BF16: one number after another, no blocks; along the rows or (T) along the columns. Widening
 * is exact. */
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

static const uint8_t *number_at(const sl_tensor *t, size_t r, size_t k)
{
    return (const uint8_t *)t->data + r * t->row_bytes + k * t->col_bytes;
}

#define COLUMNS(id)                                                                                                    \
    void sl_decode_##id##_T(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)                            \
    {                                                                                                                  \
        for (size_t k = k0; k < k1; k++)                                                                               \
            sl_decode_row_##id(out + (k - k0), number_at(t, r, k), 1);                                                 \
    }
COLUMNS(F32)
COLUMNS(F16)
COLUMNS(BF16)
