#include "module/rope.h"

#include <math.h>

/* The pair whose frequency turns `rotations` times over the original context. */
static double yarn_pair(const sl_rope *r, double rotations)
{
    return (double)r->dim * log(r->n_ctx_original / (rotations * 2.0 * M_PI)) / (2.0 * log(r->base));
}

/* 1 where a pair keeps its frequency, 0 where it is divided by the factor. */
static double yarn_keep(const sl_rope *r, size_t i)
{
    const double low = fmax(floor(yarn_pair(r, r->beta_fast)), 0.0);
    double high = fmin(ceil(yarn_pair(r, r->beta_slow)), (double)r->dim - 1.0);
    if (low == high)
        high += 0.001; /* a step, not a division by zero */
    return 1.0 - fmin(fmax(((double)i - low) / (high - low), 0.0), 1.0);
}

float sl_rope_frequencies(const sl_rope *r, float *inv_freq)
{
    for (size_t i = 0; i < r->dim / 2; i++) {
        const float plain = (float)(1.0 / pow(r->base, 2.0 * (double)i / (double)r->dim));
        double f = plain;
        if (r->scaling == SL_ROPE_LINEAR)
            f = plain / r->factor;
        else if (r->scaling == SL_ROPE_YARN) {
            const double keep = yarn_keep(r, i);
            f = plain * keep + plain / r->factor * (1.0 - keep);
        }
        if (r->divisor)
            f /= r->divisor[i];
        inv_freq[i] = (float)f;
    }
    if (r->scaling != SL_ROPE_YARN || r->factor <= 1.0)
        return 1.0f;
    return (float)((0.1 * log(r->factor) + 1.0) * r->attn_factor);
}
