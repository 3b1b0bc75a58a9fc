/* q5_1.c - GGML's Q5_1: 5 bits, half-float scale and minimum, w = d * q + m. Bits lie as in Q5_0. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

void sl_group_Q5_1(sl_quant_group *out, const void *src, size_t g)
{
    sl_block_q5_1 b;
    memcpy(&b, (const uint8_t *)src + g * sizeof b, sizeof b);
    const uint32_t high = sl_load_le32(b.high);
    for (size_t i = 0; i < SL_GROUP / 2; i++) {
        out->q[i] = (int16_t)((b.q[i] & 15) | (high >> i & 1) << 4);
        out->q[i + SL_GROUP / 2] = (int16_t)((b.q[i] >> 4) | (high >> (i + SL_GROUP / 2) & 1) << 4);
    }
    out->d = sl_f32_from_f16(b.d);
    out->m = sl_f32_from_f16(b.m);
}
