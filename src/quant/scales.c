#include "quant/scales.h"

#include <string.h>
#include "base/num.h"

#define AT_ONCE 256 /* columns */

size_t sl_scales_group(const sl_scales *s, size_t c)
{
    return s->group_of ? sl_load_le32((const uint8_t *)s->group_of + 4 * c) : c / s->group;
}

/* 2^(e - 127); 255 is no number. */
static float from_e8m0(uint8_t e)
{
    return sl_f32_from_bits(e == 0 ? 0x00400000u : e == 255 ? 0x7fc00000u : (uint32_t)e << 23);
}

float sl_scales_at(const sl_scales *s, size_t r, size_t g)
{
    const uint8_t *p = (const uint8_t *)s->scale + sl_scales_row(s, r) / s->rows * s->row_bytes + g * s->col_bytes;
    switch (s->type) {
    case SL_SCALE_F32:
        return sl_f32_from_bits(sl_load_le32(p));
    case SL_SCALE_F16:
        return sl_f32_from_f16(sl_load_le16(p));
    case SL_SCALE_BF16:
        return sl_f32_from_bf16(sl_load_le16(p));
    case SL_SCALE_E8M0:
        break;
    }
    return from_e8m0(*p);
}

int sl_scales_zero(const sl_scales *s, size_t r, size_t g, unsigned bits)
{
    if (!s->zero)
        return (int)s->offset;
    const size_t row = sl_scales_row(s, r), in_word = 32 / bits;
    const uint8_t *p = (const uint8_t *)s->zero + row / in_word * s->zero_row_bytes + g * s->zero_col_bytes;
    return (int)((sl_load_le32(p) >> row % in_word * bits & ((1u << bits) - 1)) + s->offset);
}

void sl_scales_apply(float *out, const sl_scales *s, size_t r, size_t k0, size_t k1, const int16_t *q, unsigned bits)
{
    size_t last = SIZE_MAX;
    float d = 0.0f;
    int zero = 0;
    for (size_t k = k0; k < k1; k++) {
        const size_t g = sl_scales_group(s, k);
        if (g != last) {
            d = sl_scales_at(s, r, g);
            zero = sl_scales_zero(s, r, g, bits);
            last = g;
        }
        out[k - k0] = d * (float)(q[k - k0] - zero);
    }
}

void sl_scales_decode(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1, sl_numbers_fn *numbers,
                      unsigned bits)
{
    for (size_t k = k0; k < k1; k += AT_ONCE) {
        int16_t q[AT_ONCE];
        const size_t n = SL_MIN((size_t)AT_ONCE, k1 - k);
        numbers(q, t, r, k, n, bits);
        sl_scales_apply(out + (k - k0), &t->scales, r, k, k + n, q, bits);
    }
}

void sl_scales_take_group(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g, sl_numbers_fn *numbers,
                          unsigned bits)
{
    const size_t k = g * SL_GROUP, shared = sl_scales_group(&t->scales, k);
    const int zero = sl_scales_zero(&t->scales, r, shared, bits);
    numbers(out->q, t, r, k, SL_GROUP, bits);
    for (size_t i = 0; i < SL_GROUP; i++)
        out->q[i] = (int16_t)(out->q[i] - zero);
    out->d = sl_scales_at(&t->scales, r, shared);
    out->m = 0.0f;
}
