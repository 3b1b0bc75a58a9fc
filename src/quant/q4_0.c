/* q4_0.c - GGML's Q4_0: 32 nibbles offset by 8 and a half-float scale, w = d * (q - 8).
 * Byte i holds weight i in its low and weight i + 16 in its high nibble. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

void sl_group_Q4_0(sl_quant_group *out, const void *src, size_t g)
{
    sl_block_q4_0 b;
    memcpy(&b, (const uint8_t *)src + g * sizeof b, sizeof b);
    for (size_t i = 0; i < SL_GROUP / 2; i++) {
        out->q[i] = (int16_t)((b.q[i] & 15) - 8);
        out->q[i + SL_GROUP / 2] = (int16_t)((b.q[i] >> 4) - 8);
    }
    out->d = sl_f32_from_f16(b.d);
    out->m = 0.0f;
}
