/* q4_1.c - GGML's Q4_1: 32 nibbles, half-float scale and minimum, w = d * q + m. Nibbles lie as in Q4_0. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

void sl_group_Q4_1(sl_quant_group *out, const void *src, size_t g)
{
    sl_block_q4_1 b;
    memcpy(&b, (const uint8_t *)src + g * sizeof b, sizeof b);
    for (size_t i = 0; i < SL_GROUP / 2; i++) {
        out->q[i] = b.q[i] & 15;
        out->q[i + SL_GROUP / 2] = b.q[i] >> 4;
    }
    out->d = sl_f32_from_f16(b.d);
    out->m = sl_f32_from_f16(b.m);
}
