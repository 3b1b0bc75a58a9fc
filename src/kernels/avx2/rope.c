/* rope.c - rotary position embedding, 8 or 4 pairs at a time. */
#include "kernels/avx2/avx2_in.h"

/* Pairs (a[i], b[i]) by the angles in `lo` and `hi`, which hold 8 x (cosine, sine). */
static inline void rotate8(__m256 *a, __m256 *b, __m256 lo, __m256 hi)
{
    /* c0 s0 c1 s1 | c2 s2 c3 s3  and  c4 .. s7  ->  c0 .. c7 and s0 .. s7 */
    const __m256 l = _mm256_permute2f128_ps(lo, hi, 0x20), h = _mm256_permute2f128_ps(lo, hi, 0x31);
    const __m256 c = _mm256_shuffle_ps(l, h, _MM_SHUFFLE(2, 0, 2, 0));
    const __m256 s = _mm256_shuffle_ps(l, h, _MM_SHUFFLE(3, 1, 3, 1));
    const __m256 x = *a, y = *b;
    *a = _mm256_fmsub_ps(x, c, _mm256_mul_ps(y, s));
    *b = _mm256_fmadd_ps(y, c, _mm256_mul_ps(x, s));
}

void sl_rope_half_avx2(float *x, const float *cs, size_t C)
{
    const size_t half = C / 2;
    size_t i = 0;
    for (; i + 8 <= half; i += 8) {
        __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + half + i);
        rotate8(&a, &b, _mm256_loadu_ps(cs + 2 * i), _mm256_loadu_ps(cs + 2 * i + 8));
        _mm256_storeu_ps(x + i, a);
        _mm256_storeu_ps(x + half + i, b);
    }
    if (i < half) {
        const size_t n = half - i; /* pairs left, 1..7 */
        const __m256i m = lanes8(n), lo = lanes8(2 * n < 8 ? 2 * n : 8), hi = lanes8(2 * n < 8 ? 0 : 2 * n - 8);
        __m256 a = _mm256_maskload_ps(x + i, m), b = _mm256_maskload_ps(x + half + i, m);
        rotate8(&a, &b, _mm256_maskload_ps(cs + 2 * i, lo), _mm256_maskload_ps(cs + 2 * i + 8, hi));
        _mm256_maskstore_ps(x + i, m, a);
        _mm256_maskstore_ps(x + half + i, m, b);
    }
}

/* x0 c0 - x1 s0, x1 c0 + x0 s0, ... */
static inline __m256 rotate_adjacent(__m256 x, __m256 cs)
{
    const __m256 c = _mm256_moveldup_ps(cs), s = _mm256_movehdup_ps(cs);
    const __m256 swapped = _mm256_permute_ps(x, _MM_SHUFFLE(2, 3, 0, 1));
    return _mm256_fmaddsub_ps(x, c, _mm256_mul_ps(swapped, s));
}

void sl_rope_adjacent_avx2(float *x, const float *cs, size_t C)
{
    size_t i = 0;
    for (; i + 8 <= C; i += 8)
        _mm256_storeu_ps(x + i, rotate_adjacent(_mm256_loadu_ps(x + i), _mm256_loadu_ps(cs + i)));
    if (i < C) {
        const __m256i m = lanes8(C - i);
        _mm256_maskstore_ps(x + i, m, rotate_adjacent(_mm256_maskload_ps(x + i, m), _mm256_maskload_ps(cs + i, m)));
    }
}
