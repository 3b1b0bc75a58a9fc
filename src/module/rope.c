#include "module/rope.h"

#include <math.h>

/* The pair whose frequency turns `rotations` times over the original context. */
static double yarn_pair(const sl_rope *r, double rotations)
{
    return (double)r->dim * log(r->n_ctx_original / (rotations * 2.0 * M_PI)) / (2.0 * log(r->base));
}

/* A pair's frequency between the plain one and the one divided by the factor. In f32 in the order of the reference,
 * since at far positions a last bit of a frequency is much of an angle. */
static float yarn_frequency(const sl_rope *r, size_t i, float inverse)
{
    const double from = yarn_pair(r, r->beta_fast), to = yarn_pair(r, r->beta_slow);
    const double low = fmax(r->unrounded ? from : floor(from), 0.0);
    double high = fmin(r->unrounded ? to : ceil(to), (double)r->dim - 1.0);
    if (low == high)
        high += 0.001; /* a step, not a division by zero */
    const float keep = 1.0f - fminf(fmaxf(((float)i - (float)low) / (float)(high - low), 0.0f), 1.0f);
    return 1.0f / ((float)r->factor * inverse) * (1.0f - keep) + 1.0f / inverse * keep;
}

/* The share that a frequency keeps which turns so often over the original context; the rest is divided by the factor.
 */
static double llama3_keep(const sl_rope *r, double frequency)
{
    const double rotations = r->n_ctx_original * frequency / (2.0 * M_PI);
    return fmin(fmax((rotations - r->low_freq) / (r->high_freq - r->low_freq), 0.0), 1.0);
}

float sl_rope_frequencies(const sl_rope *r, float *inv_freq)
{
    for (size_t i = 0; i < r->dim / 2; i++) {
        const float inverse = powf((float)r->base, (float)(2 * i) / (float)r->dim), plain = 1.0f / inverse;
        double f = (double)plain;
        if (r->scaling == SL_ROPE_LINEAR)
            f = (double)(plain / (float)r->factor);
        if (r->scaling == SL_ROPE_YARN)
            f = (double)yarn_frequency(r, i, inverse);
        if (r->scaling == SL_ROPE_LLAMA3) {
            const double keep = llama3_keep(r, (double)plain);
            f = (double)plain * keep + (double)plain / r->factor * (1.0 - keep);
        }
        if (r->divisor)
            f /= (double)r->divisor[i];
        inv_freq[i] = (float)f;
    }
    if (r->scaling != SL_ROPE_YARN)
        return 1.0f;
    return (float)((r->factor <= 1.0 ? 1.0 : 0.1 * log(r->factor) + 1.0) * r->attn_factor);
}
