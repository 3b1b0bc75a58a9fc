/* quantize_in.h - 32 numbers in four registers, to 8 bits with one scale. */
#ifndef SL_KERNELS_AVX2_QUANTIZE_IN_H
#define SL_KERNELS_AVX2_QUANTIZE_IN_H

#include "kernels/avx2/avx2_in.h"

#include <math.h>

#include "base/num.h"

static inline int32_t hmax8_epi32(__m256i v)
{
    __m128i a = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    a = _mm_max_epi32(a, _mm_shuffle_epi32(a, _MM_SHUFFLE(1, 0, 3, 2)));
    a = _mm_max_epi32(a, _mm_shuffle_epi32(a, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(a);
}

/* n <= 32 numbers at x; zeros beyond them. */
static inline void load_group(__m256 v[4], const float *x, size_t n)
{
    for (size_t i = 0; i < 4; i++) {
        const size_t left = n > 8 * i ? n - 8 * i : 0;
        v[i] = load_some(x + 8 * i, SL_MIN(left, (size_t)8));
    }
}

/* Largest magnitude by its bits: as integers, infinity and NaN are above every number. */
static inline uint32_t top_bits(const __m256 x[4])
{
    const __m256i abs = _mm256_set1_epi32(0x7fffffff);
    __m256i m = _mm256_and_si256(_mm256_castps_si256(x[0]), abs);
    for (size_t v = 1; v < 4; v++)
        m = _mm256_max_epi32(m, _mm256_and_si256(_mm256_castps_si256(x[v]), abs));
    return (uint32_t)hmax8_epi32(m);
}

/* Likewise of n numbers. */
static inline uint32_t top_bits_of_row(const float *x, size_t n)
{
    uint32_t top = 0;
    for (size_t k = 0; k < n; k += 32) {
        __m256 v[4];
        load_group(v, x + k, SL_MIN(n - k, (size_t)32));
        const uint32_t bits = top_bits(v);
        top = SL_MAX(top, bits);
    }
    return top;
}

/* The scale of numbers whose largest magnitude has these bits. */
static inline float scale_of(uint32_t top)
{
    return top < 0x7f800000u ? sl_f32_from_bits(top) / 127.0f : NAN;
}

static inline __m256i divide8(__m256 x, __m256 d)
{
    const __m256 limit = _mm256_set1_ps(127.0f); /* matters only for a subnormal d */
    const __m256 r = _mm256_div_ps(x, d);
    return _mm256_cvtps_epi32(_mm256_max_ps(_mm256_min_ps(r, limit), _mm256_sub_ps(_mm256_setzero_ps(), limit)));
}

/* The group's 32 numbers as bytes. */
static inline __m256i quantize_group(const __m256 x[4], float d)
{
    if (!(d > 0.0f)) /* not finite, or all so small that the scale is 0 */
        return _mm256_setzero_si256();
    const __m256 s = _mm256_set1_ps(d);
    const __m256i a = _mm256_packs_epi32(divide8(x[0], s), divide8(x[1], s));
    const __m256i b = _mm256_packs_epi32(divide8(x[2], s), divide8(x[3], s));
    /* The packs work within 128-bit halves: four bytes of each quarter come interleaved. */
    return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

#endif
