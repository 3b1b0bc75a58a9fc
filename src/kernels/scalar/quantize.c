/* quantize.c - activations to 8 bits, in groups of 32 or in rows. */
#include "kernels/scalar/scalar_in.h"

#include <assert.h>
#include <math.h>

#include "base/num.h"
#include "quant/blocks.h"

static float scale_of(const float *x, size_t n)
{
    float top = 0.0f;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        top = fmaxf(top, fabsf(x[i]));
        finite = finite && isfinite(x[i]);
    }
    return finite ? top / 127.0f : NAN;
}

/* q [SL_GROUP] of the n <= SL_GROUP numbers at x, zeros beyond. */
static void quantize_group(int8_t *q, const float *x, size_t n, float d)
{
    memset(q, 0, SL_GROUP);
    /* Not finite, or all so small that the scale is 0. */
    if (!(d > 0.0f))
        return;
    for (size_t i = 0; i < n; i++) /* only a subnormal d is so coarse that the limits matter */
        q[i] = (int8_t)lrintf(fminf(fmaxf(x[i] / d, -127.0f), 127.0f));
}

void sl_turn_scalar(sl_lanes *lanes, const sl_act *act, size_t t0)
{
    assert(t0 + SL_LANES <= act->T);
    for (size_t g = 0; g < act->G; g++) {
        sl_lanes *out = &lanes[g];
        for (size_t lane = 0; lane < SL_LANES; lane++) {
            const size_t at = (t0 + lane) * act->G + g;
            for (size_t i = 0; i < SL_GROUP; i += 8)
                memcpy(out->q[i / 8][lane / 2 % 2][lane / 4 * 2 + lane % 2], act->q8 + at * SL_GROUP + i, 8);
            memcpy(out->eight[lane], act->eight + 2 * at, sizeof out->eight[lane]);
            out->d[lane] = act->d[at];
            out->dsum[lane] = act->dsum[at];
        }
    }
}

void sl_quantize_scalar(const sl_act *act, size_t t0, size_t t1)
{
    assert(act->G == sl_div_up(act->K, SL_GROUP));
    for (size_t t = t0; t < t1; t++) {
        const float *row = act->f32 + t * act->ldf, of_row = act->token ? scale_of(row, act->K) : 0.0f;
        for (size_t g = 0; g < act->G; g++) {
            const size_t at = t * act->G + g, k = g * SL_GROUP, n = SL_MIN(act->K - k, (size_t)SL_GROUP);
            int8_t *q = act->q8 + at * SL_GROUP;
            act->d[at] = act->token ? of_row : scale_of(row + k, n);
            quantize_group(q, row + k, n, act->d[at]);
            int16_t *half = act->half + 2 * at, *eight = act->eight + 2 * at;
            half[0] = half[1] = eight[0] = eight[1] = 0;
            for (size_t i = 0; i < SL_GROUP; i++) {
                half[i / (SL_GROUP / 2)] += q[i];
                eight[i % 4 / 2] += 8 * q[i];
                if (act->q16)
                    act->q16[at * SL_GROUP + i] = q[i];
            }
            act->dsum[at] = act->d[at] * (float)(half[0] + half[1]);
        }
    }
}
