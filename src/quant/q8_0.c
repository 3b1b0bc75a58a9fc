/* q8_0.c - GGML's Q8_0: 32 signed bytes and a half-float scale, w = d * q. */
#include "quant/formats_in.h"

#include <string.h>
#include "base/num.h"

void sl_group_Q8_0(sl_quant_group *out, const void *src, size_t g)
{
    sl_block_q8_0 b;
    memcpy(&b, (const uint8_t *)src + g * sizeof b, sizeof b);
    for (size_t i = 0; i < SL_GROUP; i++)
        out->q[i] = b.q[i];
    out->d = sl_f32_from_f16(b.d);
    out->m = 0.0f;
}
