/* gptq.c - GPTQ: numbers of 4 or 8 bits stored [in][out], w = scale * (q - zero). A word of 32 bits holds 8 or 4
 * neighbouring columns of a row, from the lowest bits on; words of neighbouring rows lie side by side, those of the
 * next columns col_bytes behind. Zero points are packed along the rows; scales.offset is added to them: 1 in files of
 * checkpoint_format "gptq", 0 in "gptq_v2".
 * Source: Frantar et al. 2023, arXiv 2210.17323; the layout is that of AutoGPTQ's QuantLinear.pack. */
#include "quant/formats_in.h"

#include "base/num.h"
#include "quant/scales.h"

static void numbers(int16_t *q, const sl_tensor *t, size_t r, size_t k0, size_t n, unsigned bits)
{
    const uint8_t *p = (const uint8_t *)t->data + (t->scales.first + r) * sizeof(uint32_t);
    const size_t in_word = 32 / bits;
    for (size_t i = 0; i < n; i++) {
        const size_t k = k0 + i;
        q[i] = (int16_t)(sl_load_le32(p + k / in_word * t->col_bytes) >> k % in_word * bits & ((1u << bits) - 1));
    }
}

#define DECODE(id, bits)                                                                                               \
    void sl_decode_##id(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)                                \
    {                                                                                                                  \
        sl_scales_decode(out, t, r, k0, k1, numbers, bits);                                                            \
    }
DECODE(GPTQ4, 4)
DECODE(GPTQ4_ANY, 4)
DECODE(GPTQ8, 8)
DECODE(GPTQ8_ANY, 8)
#undef DECODE

void sl_group_GPTQ4(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g)
{
    sl_scales_take_group(out, t, r, g, numbers, 4);
}

void sl_group_GPTQ8(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g)
{
    sl_scales_take_group(out, t, r, g, numbers, 8);
}
