/* q4_k.c - GGML's Q4_K: nibbles; 32 weights share a scale and a minimum of 6 bits,
 * w = (d * scale) * q - dmin * minimum. Byte i of 32 holds weight i of an even group in its low nibble and
 * of the next group in its high one. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

/* Groups 0..3 have their 6 bits in bytes g and g + 4. Groups 4..7 have 4 of them in byte g + 4, and the
 * upper 2 above those of groups 0..3. */
void sl_k_scale(const uint8_t packed[12], size_t g, unsigned *scale, unsigned *minimum)
{
    if (g < 4) {
        *scale = packed[g] & 63u;
        *minimum = packed[g + 4] & 63u;
    } else {
        *scale = (packed[g + 4] & 15u) | (unsigned)(packed[g - 4] >> 6) << 4;
        *minimum = (unsigned)(packed[g + 4] >> 4) | (unsigned)(packed[g] >> 6) << 4;
    }
}

void sl_group_Q4_K(sl_quant_group *out, const void *src, size_t g)
{
    const size_t j = g % 8; /* of the super-block */
    sl_block_q4_k b;
    unsigned scale = 0, minimum = 0;
    memcpy(&b, (const uint8_t *)src + g / 8 * sizeof b, sizeof b);
    sl_k_scale(b.scale, j, &scale, &minimum);
    for (size_t i = 0; i < SL_GROUP; i++)
        out->q[i] = b.q[j / 2 * 32 + i] >> 4 * (j % 2) & 15;
    out->d = sl_f32_from_f16(b.d) * (float)scale;
    out->m = -(sl_f32_from_f16(b.dmin) * (float)minimum);
}
