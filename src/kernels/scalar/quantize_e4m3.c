/* quantize_e4m3.c - activations rounded to 8-bit floats. */
#include "kernels/scalar/scalar_in.h"

#include <math.h>

#define LARGEST  448.0f
#define EXPONENT (-6) /* of the smallest normal numbers, whose steps the subnormal ones have too */
#define MANTISSA 3    /* bits */

/* v >= 0 to the nearest number of E4M3, ties to even. */
static float nearest(float v)
{
    int e = 0;
    (void)frexpf(v, &e); /* v is below 2^e and not below half of it */
    const float step = ldexpf(1.0f, (e - 1 > EXPONENT ? e - 1 : EXPONENT) - MANTISSA);
    return fminf(rintf(v / step) * step, LARGEST);
}

void sl_round_e4m3_scalar(float *y, const float *x, size_t n, bool power)
{
    float top = 0.0f;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        top = fmaxf(top, fabsf(x[i]));
        finite = finite && isfinite(x[i]);
    }
    float d = finite ? top / LARGEST : NAN;
    if (power && d > 0.0f)
        d = sl_power_from(d);
    for (size_t i = 0; i < n; i++)
        y[i] = d > 0.0f ? copysignf(nearest(fabsf(x[i]) / d), x[i]) * d : d;
}
