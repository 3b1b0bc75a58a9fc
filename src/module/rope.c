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
    const double from = yarn_pair(r, r->beta_fast), to = yarn_pair(r, r->beta_slow);
    const double low = fmax(r->unrounded ? from : floor(from), 0.0);
    double high = fmin(r->unrounded ? to : ceil(to), (double)r->dim - 1.0);
    if (low == high)
        high += 0.001; /* a step, not a division by zero */
    return 1.0 - fmin(fmax(((double)i - low) / (high - low), 0.0), 1.0);
}

/* The same share for a frequency that turns so often over the original context. */
static double llama3_keep(const sl_rope *r, double frequency)
{
    const double rotations = r->n_ctx_original * frequency / (2.0 * M_PI);
    return fmin(fmax((rotations - r->low_freq) / (r->high_freq - r->low_freq), 0.0), 1.0);
}

float sl_rope_frequencies(const sl_rope *r, float *inv_freq)
{
    for (size_t i = 0; i < r->dim / 2; i++) {
        const float plain = (float)(1.0 / pow(r->base, 2.0 * (double)i / (double)r->dim));
        double f = plain;
        if (r->scaling == SL_ROPE_LINEAR)
            f = plain / r->factor;
        else if (r->scaling != SL_ROPE_NONE) {
            const double keep = r->scaling == SL_ROPE_YARN ? yarn_keep(r, i) : llama3_keep(r, plain);
            f = plain * keep + plain / r->factor * (1.0 - keep);
        }
        if (r->divisor)
            f /= r->divisor[i];
        inv_freq[i] = (float)f;
    }
    if (r->scaling != SL_ROPE_YARN)
        return 1.0f;
    return (float)((r->factor <= 1.0 ? 1.0 : 0.1 * log(r->factor) + 1.0) * r->attn_factor);
}
