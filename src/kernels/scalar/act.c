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
