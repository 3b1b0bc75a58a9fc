/* q3_k.c - GGML's Q3_K: 3 bits offset by 4; 16 weights share a scale of 6 bits offset by 32,
 * w = d * (scale - 32) * (q - 4). The low 2 bits lie as in Q2_K.
 *
 * As whole numbers: (scale - 32) * (q - 4), at most 128. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

/* Scale s < 16: low 4 bits in bytes 0..7, nibble by nibble, high 2 bits in bytes 8..11, pair by pair. */
static int scale_of(const uint8_t packed[12], size_t s)
{
    const int low = packed[s % 8] >> 4 * (s / 8) & 15, high = packed[8 + s % 4] >> 2 * (s / 4) & 3;
    return (low | high << 4) - 32;
}

void sl_group_Q3_K(sl_quant_group *out, const void *src, size_t g)
{
    const size_t j = g % 8; /* of the super-block */
    sl_block_q3_k b;
    memcpy(&b, (const uint8_t *)src + g / 8 * sizeof b, sizeof b);
    for (size_t i = 0; i < SL_GROUP; i++) {
        const int q = (b.q[j / 4 * 32 + i] >> 2 * (j % 4) & 3) | (b.high[i] >> j & 1) << 2;
        out->q[i] = (int16_t)(scale_of(b.scale, 2 * j + i / 16) * (q - 4));
    }
    out->d = sl_f32_from_f16(b.d);
    out->m = 0.0f;
}
