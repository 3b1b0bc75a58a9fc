/* norm.c - RMS norm. */
#include "kernels/scalar/scalar_in.h"

#include <math.h>

void sl_rms_norm_scalar(float *y, size_t ldy, const float *x, size_t ldx, const float *w, size_t T, size_t K, float eps)
{
    for (size_t t = 0; t < T; t++, x += ldx, y += ldy) {
        float ss = 0.0f;
        for (size_t i = 0; i < K; i++)
            ss += x[i] * x[i];
        const float scale = 1.0f / sqrtf(ss / (float)K + eps);
        for (size_t i = 0; i < K; i++)
            y[i] = x[i] * scale * w[i];
    }
}
