/* iq4.c - GGML's IQ4_NL and IQ4_XS: nibbles that choose among 16 uneven steps. IQ4_NL has a half-float scale
 * for 32 of them; IQ4_XS one for 256 and, for 32, a scale of 6 bits offset by 32. Nibbles lie as in Q4_0. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

const int8_t sl_iq4_values[16] = { -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 };

static void choose(sl_quant_group *out, const uint8_t q[16])
{
    for (size_t i = 0; i < SL_GROUP / 2; i++) {
        out->q[i] = sl_iq4_values[q[i] & 15];
        out->q[i + SL_GROUP / 2] = sl_iq4_values[q[i] >> 4];
    }
}

void sl_group_IQ4_NL(sl_quant_group *out, const void *src, size_t g)
{
    sl_block_iq4_nl b;
    memcpy(&b, (const uint8_t *)src + g * sizeof b, sizeof b);
    choose(out, b.q);
    out->d = sl_f32_from_f16(b.d);
    out->m = 0.0f;
}

void sl_group_IQ4_XS(sl_quant_group *out, const void *src, size_t g)
{
    const size_t j = g % 8; /* of the super-block */
    sl_block_iq4_xs b;
    memcpy(&b, (const uint8_t *)src + g / 8 * sizeof b, sizeof b);
    choose(out, b.q + j * 16);
    const int scale = ((b.scale_low[j / 2] >> 4 * (j % 2) & 15) | (b.scale_high >> 2 * j & 3) << 4) - 32;
    out->d = sl_f32_from_f16(b.d) * (float)scale;
    out->m = 0.0f;
}
