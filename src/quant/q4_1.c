/* q4_1.c - GGML's Q4_1: 32 nibbles, half-float scale and minimum, w = d * q + m, rounded after the
 * product and after the sum. Nibbles lie as in Q4_0. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"
#include "quant/blocks.h"

void sl_decode_row_Q4_1(float *out, const void *src, size_t n)
{
    const uint8_t *p = src;
    for (; n >= SL_GROUP; n -= SL_GROUP, out += SL_GROUP, p += sizeof(sl_block_q4_1)) {
        sl_block_q4_1 b;
        memcpy(&b, p, sizeof b);
        const float d = sl_f32_from_f16(b.d), m = sl_f32_from_f16(b.m);
        for (size_t i = 0; i < SL_GROUP / 2; i++) {
            out[i] = d * (float)(b.q[i] & 15) + m;
            out[i + SL_GROUP / 2] = d * (float)(b.q[i] >> 4) + m;
        }
    }
}
