/* awq.c - AWQ in its "gemm" layout: numbers of 4 bits stored [in][out], w = scale * (q - zero). A word of 32 bits holds
 * 8 neighbouring rows of a column, in the order 0, 2, 4, 6, 1, 3, 5, 7 from the lowest bits on; zero points likewise.
 * Words of the next 8 rows lie side by side, those of the next column col_bytes behind.
 * Source: Lin et al. 2024, arXiv 2306.00978; the layout is that of AutoAWQ's WQLinear_GEMM. */
#include "quant/formats_in.h"

#include "base/num.h"
#include "quant/scales.h"

/* The 4 bits of a row in a word of 8 rows. */
static unsigned nibble(const uint8_t *word, size_t row)
{
    static const unsigned char at[8] = { 0, 16, 4, 20, 8, 24, 12, 28 };
    return sl_load_le32(word) >> at[row % 8] & 15;
}

static unsigned number(const sl_tensor *t, size_t r, size_t k)
{
    const size_t row = t->scales.first + r;
    return nibble((const uint8_t *)t->data + k * t->col_bytes + row / 8 * sizeof(uint32_t), row);
}

static unsigned zero_of(const sl_scales *s, size_t r, size_t g)
{
    const size_t row = s->first + r;
    return nibble((const uint8_t *)s->zero + row / 8 * s->zero_row_bytes + g * s->zero_col_bytes, row);
}

void sl_decode_AWQ4(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    const sl_scales *s = &t->scales;
    for (size_t k = k0; k < k1; k++) {
        const size_t g = sl_scales_group(s, k);
        const int q = (int)number(t, r, k) - (int)zero_of(s, r, g);
        out[k - k0] = sl_scales_at(s, r, g) * (float)q;
    }
}

void sl_group_AWQ4(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g)
{
    const size_t k = g * SL_GROUP, shared = sl_scales_group(&t->scales, k);
    const int zero = (int)zero_of(&t->scales, r, shared);
    for (size_t i = 0; i < SL_GROUP; i++)
        out->q[i] = (int16_t)((int)number(t, r, k + i) - zero);
    out->d = sl_scales_at(&t->scales, r, shared);
    out->m = 0.0f;
}
