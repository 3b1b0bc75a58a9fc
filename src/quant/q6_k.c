/* q6_k.c - GGML's Q6_K: 6 bits offset by 32; 16 weights share a scale of 8 bits, w = d * scale * (q - 32).
 * In each half of 128: low nibbles of bytes 0..31, then of 32..63, then the high ones of both; the upper 2
 * bits of weights i, i + 32, i + 64, i + 96 in one byte.
 *
 * As whole numbers: scale * (q - 32), at most 4096. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

void sl_group_Q6_K(sl_quant_group *out, const void *src, size_t g)
{
    const size_t half = g % 8 / 4, j = g % 4; /* of the super-block, of the half */
    sl_block_q6_k b;
    memcpy(&b, (const uint8_t *)src + g / 8 * sizeof b, sizeof b);
    for (size_t i = 0; i < SL_GROUP; i++) {
        const int low = b.low[half * 64 + j % 2 * 32 + i] >> 4 * (j / 2) & 15;
        const int high = b.high[half * 32 + i] >> 2 * j & 3;
        out->q[i] = (int16_t)(b.scale[half * 8 + j * 2 + i / 16] * ((low | high << 4) - 32));
    }
    out->d = sl_f32_from_f16(b.d);
    out->m = 0.0f;
}
