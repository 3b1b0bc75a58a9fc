/* q5_k.c - GGML's Q5_K: Q4_K with a fifth bit for each weight, kept apart. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

void sl_group_Q5_K(sl_quant_group *out, const void *src, size_t g)
{
    const size_t j = g % 8; /* of the super-block */
    sl_block_q5_k b;
    unsigned scale = 0, minimum = 0;
    memcpy(&b, (const uint8_t *)src + g / 8 * sizeof b, sizeof b);
    sl_k_scale(b.scale, j, &scale, &minimum);
    for (size_t i = 0; i < SL_GROUP; i++)
        out->q[i] = (int16_t)((b.q[j / 2 * 32 + i] >> 4 * (j % 2) & 15) | (b.high[i] >> j & 1) << 4);
    out->d = sl_f32_from_f16(b.d) * (float)scale;
    out->m = -(sl_f32_from_f16(b.dmin) * (float)minimum);
}
