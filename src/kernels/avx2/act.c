/* act.c - the element-wise operations. add, mul, scale and add_scaled are exact per element, so their
 * tails may be plain C. */
#include "kernels/avx2/avx2_in.h"

void sl_add_avx2(float *y, const float *a, const float *b, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
    for (; i < n; i++)
        y[i] = a[i] + b[i];
}

void sl_mul_avx2(float *y, const float *a, const float *b, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
    for (; i < n; i++)
        y[i] = a[i] * b[i];
}

void sl_scale_avx2(float *y, const float *a, float s, size_t n)
{
    const __m256 v = _mm256_set1_ps(s);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(a + i), v));
    for (; i < n; i++)
        y[i] = a[i] * s;
}

void sl_add_scaled_avx2(float *y, const float *a, float s, size_t n)
{
    const __m256 v = _mm256_set1_ps(s);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 product = _mm256_mul_ps(_mm256_loadu_ps(a + i), v);
        _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), product));
    }
    for (; i < n; i++) {
        const float product = a[i] * s;
        y[i] += product;
    }
}

static inline __m256 silu8(__m256 x)
{
    const __m256 e = exp8(_mm256_xor_ps(x, _mm256_set1_ps(-0.0f)));
    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0f), e));
}

void sl_silu_avx2(float *y, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, silu8(_mm256_loadu_ps(x + i)));
    if (i < n) {
        const __m256i m = lanes8(n - i);
        _mm256_maskstore_ps(y + i, m, silu8(_mm256_maskload_ps(x + i, m)));
    }
}

/* The constants stand first: minimum and maximum give their second operand where one is a NaN. */
static inline __m256 clamped_glu8(__m256 gate, __m256 up, __m256 limit, __m256 alpha)
{
    const __m256 sign = _mm256_set1_ps(-0.0f), one = _mm256_set1_ps(1.0f);
    const __m256 g = _mm256_min_ps(limit, gate);
    const __m256 u = _mm256_max_ps(_mm256_xor_ps(limit, sign), _mm256_min_ps(limit, up));
    const __m256 e = exp8(_mm256_xor_ps(_mm256_mul_ps(alpha, g), sign));
    return _mm256_mul_ps(_mm256_div_ps(g, _mm256_add_ps(one, e)), _mm256_add_ps(u, one));
}

void sl_clamped_glu_avx2(float *y, const float *gate, const float *up, size_t n, float limit, float alpha)
{
    const __m256 l = _mm256_set1_ps(limit), a = _mm256_set1_ps(alpha);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, clamped_glu8(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i), l, a));
    if (i < n) {
        const __m256i m = lanes8(n - i);
        _mm256_maskstore_ps(y + i, m,
                            clamped_glu8(_mm256_maskload_ps(gate + i, m), _mm256_maskload_ps(up + i, m), l, a));
    }
}
