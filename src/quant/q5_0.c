/* q5_0.c - GGML's Q5_0: 5 bits offset by 16 and a half-float scale, w = d * (q - 16). Low nibbles lie as in
 * Q4_0, the fifth bits in a word of their own. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

void sl_group_Q5_0(sl_quant_group *out, const void *src, size_t g)
{
    sl_block_q5_0 b;
    memcpy(&b, (const uint8_t *)src + g * sizeof b, sizeof b);
    const uint32_t high = sl_load_le32(b.high);
    for (size_t i = 0; i < SL_GROUP / 2; i++) {
        out->q[i] = (int16_t)(((b.q[i] & 15) | (high >> i & 1) << 4) - 16);
        out->q[i + SL_GROUP / 2] = (int16_t)(((b.q[i] >> 4) | (high >> (i + SL_GROUP / 2) & 1) << 4) - 16);
    }
    out->d = sl_f32_from_f16(b.d);
    out->m = 0.0f;
}
