/* norm.c - RMS norm: two passes over a row, which stays in L1 between them.
 * Four accumulators, since one alone waits the whole FMA latency on every step. */
#include "kernels/avx2/avx2_in.h"

#include <math.h>

static inline float sum_of_squares(const float *x, size_t K)
{
    __m256 a[4] = { _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps() };
    size_t i = 0;
    for (; i + 32 <= K; i += 32)
        for (size_t v = 0; v < 4; v++) {
            const __m256 q = _mm256_loadu_ps(x + i + 8 * v);
            a[v] = _mm256_fmadd_ps(q, q, a[v]);
        }
    for (size_t v = 0; i < K; i += 8, v++) {
        const __m256 q = _mm256_maskload_ps(x + i, lanes8(K - i < 8 ? K - i : 8));
        a[v] = _mm256_fmadd_ps(q, q, a[v]);
    }
    return hsum8(_mm256_add_ps(_mm256_add_ps(a[0], a[1]), _mm256_add_ps(a[2], a[3])));
}

void sl_rms_norm_avx2(float *y, size_t ldy, const float *x, size_t ldx, const float *w, size_t T, size_t K, float eps)
{
    for (size_t t = 0; t < T; t++, x += ldx, y += ldy) {
        const float scale = 1.0f / sqrtf(sum_of_squares(x, K) / (float)K + eps);
        const __m256 s = _mm256_set1_ps(scale);
        size_t i = 0;
        for (; i + 8 <= K; i += 8)
            _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i), s), _mm256_loadu_ps(w + i)));
        for (; i < K; i++)
            y[i] = x[i] * scale * w[i];
    }
}
