/* tq.c - GGML's TQ1_0 and TQ2_0: weights of -1, 0 and 1 times a half-float scale.
 *
 * TQ2_0 takes 2 bits for each, laid as in Q2_K. TQ1_0 packs 5 of them as digits of base 3 into a byte, which
 * holds the fraction 0.ddddd of 256, rounded up: digit n is floor(3 * frac(3^n * byte / 256)). The 32 first
 * bytes give 160 weights, digit by digit; the next 16 give 80, the last 4 with four digits 16. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

static int16_t digit(uint8_t byte, size_t n)
{
    static const uint8_t power[5] = { 1, 3, 9, 27, 81 };
    return (int16_t)((uint8_t)(byte * power[n]) * 3 >> 8);
}

void sl_group_TQ1_0(sl_quant_group *out, const void *src, size_t g)
{
    sl_block_tq1_0 b;
    memcpy(&b, (const uint8_t *)src + g / 8 * sizeof b, sizeof b);
    for (size_t i = 0; i < SL_GROUP; i++) {
        const size_t at = g % 8 * SL_GROUP + i;
        if (at < 160)
            out->q[i] = digit(b.q[at % 32], at / 32);
        else if (at < 240)
            out->q[i] = digit(b.q[32 + at % 16], (at - 160) / 16);
        else
            out->q[i] = digit(b.rest[at % 4], (at - 240) / 4);
        out->q[i]--;
    }
    out->d = sl_f32_from_f16(b.d);
    out->m = 0.0f;
}

void sl_group_TQ2_0(sl_quant_group *out, const void *src, size_t g)
{
    const size_t j = g % 8; /* of the super-block */
    sl_block_tq2_0 b;
    memcpy(&b, (const uint8_t *)src + g / 8 * sizeof b, sizeof b);
    for (size_t i = 0; i < SL_GROUP; i++)
        out->q[i] = (int16_t)((b.q[j / 4 * 32 + i] >> 2 * (j % 4) & 3) - 1);
    out->d = sl_f32_from_f16(b.d);
    out->m = 0.0f;
}
