/* q2_k.c - GGML's Q2_K: 2 bits; 16 weights share a scale and a minimum of 4 bits, w = (d * scale) * q - dmin *
 * minimum. Byte i of 32 holds weights i, i + 32, i + 64, i + 96 of a half, from its lowest bits on.
 *
 * Two minima in 32 weights: not a group of whole numbers as the others are, so it decodes rows itself. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

void sl_decode_row_Q2_K(float *out, const void *src, size_t n)
{
    const uint8_t *p = src;
    for (; n >= SL_SUPER; n -= SL_SUPER, out += SL_SUPER, p += sizeof(sl_block_q2_k)) {
        sl_block_q2_k b;
        memcpy(&b, p, sizeof b);
        const float d = sl_f32_from_f16(b.d), dmin = sl_f32_from_f16(b.dmin);
        for (size_t i = 0; i < SL_SUPER; i++) {
            const float scale = d * (float)(b.scale[i / 16] & 15), minimum = dmin * (float)(b.scale[i / 16] >> 4);
            const unsigned q = b.q[i / 128 * 32 + i % 32] >> 2 * (i / 32 % 4) & 3u;
            const float v = scale * (float)q;
            out[i] = v - minimum;
        }
    }
}
