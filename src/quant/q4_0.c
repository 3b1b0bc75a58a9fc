/* q4_0.c - GGML's Q4_0: 32 nibbles offset by 8 and a half-float scale, w = d * (q - 8).
 * Byte i holds weight i in its low and weight i + 16 in its high nibble. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"
#include "quant/blocks.h"

void sl_decode_row_Q4_0(float *out, const void *src, size_t n)
{
    const uint8_t *p = src;
    for (; n >= SL_GROUP; n -= SL_GROUP, out += SL_GROUP, p += sizeof(sl_block_q4_0)) {
        sl_block_q4_0 b;
        memcpy(&b, p, sizeof b);
        const float d = sl_f32_from_f16(b.d);
        for (size_t i = 0; i < SL_GROUP / 2; i++) {
            out[i] = d * (float)((b.q[i] & 15) - 8);
            out[i + SL_GROUP / 2] = d * (float)((b.q[i] >> 4) - 8);
        }
    }
}
