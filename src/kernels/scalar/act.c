/* act.c - the element-wise operations. */
#include "kernels/scalar/scalar_in.h"

#include <math.h>

void sl_add_scalar(float *y, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

void sl_mul_scalar(float *y, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
}

void sl_scale_scalar(float *y, const float *a, float s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] * s;
}

void sl_add_scaled_scalar(float *y, const float *a, float s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a[i] * s;
}

void sl_silu_scalar(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / (1.0f + expf(-x[i]));
}

void sl_clamped_glu_scalar(float *y, const float *gate, const float *up, size_t n, float limit, float alpha)
{
    for (size_t i = 0; i < n; i++) {
        const float g = limit < gate[i] ? limit : gate[i], below = limit < up[i] ? limit : up[i];
        const float u = -limit > below ? -limit : below;
        y[i] = g / (1.0f + expf(-(alpha * g))) * (u + 1.0f);
    }
}
