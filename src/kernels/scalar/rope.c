/* rope.c - rotary position embedding. Source: Su et al. 2021, arXiv 2104.09864. */
#include "kernels/scalar/scalar_in.h"

void sl_rope_half_scalar(float *x, const float *cs, size_t C)
{
    const size_t half = C / 2;
    for (size_t i = 0; i < half; i++) {
        const float a = x[i], b = x[half + i], c = cs[2 * i], s = cs[2 * i + 1];
        x[i] = a * c - b * s;
        x[half + i] = b * c + a * s;
    }
}

void sl_rope_adjacent_scalar(float *x, const float *cs, size_t C)
{
    for (size_t i = 0; i < C; i += 2) {
        const float a = x[i], b = x[i + 1], c = cs[i], s = cs[i + 1];
        x[i] = a * c - b * s;
        x[i + 1] = b * c + a * s;
    }
}
