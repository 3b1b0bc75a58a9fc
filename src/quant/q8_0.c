/* q8_0.c - GGML's Q8_0: 32 signed bytes and a half-float scale, w = d * q. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"
#include "quant/blocks.h"

void sl_decode_row_Q8_0(float *out, const void *src, size_t n)
{
    const uint8_t *p = src;
    for (; n >= SL_GROUP; n -= SL_GROUP, out += SL_GROUP, p += sizeof(sl_block_q8_0)) {
        sl_block_q8_0 b;
        memcpy(&b, p, sizeof b);
        const float d = sl_f32_from_f16(b.d);
        for (size_t i = 0; i < SL_GROUP; i++)
            out[i] = d * (float)b.q[i];
    }
}
