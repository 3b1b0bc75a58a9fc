/* quantize.c - activations to 8 bits in groups of 32, a group in four registers. */
#include "kernels/avx2/avx2_in.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "quant/blocks.h"

static inline int32_t hmax8_epi32(__m256i v)
{
    __m128i a = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    a = _mm_max_epi32(a, _mm_shuffle_epi32(a, _MM_SHUFFLE(1, 0, 3, 2)));
    a = _mm_max_epi32(a, _mm_shuffle_epi32(a, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(a);
}

static inline int32_t hsum8_epi32(__m256i v)
{
    __m128i a = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    a = _mm_add_epi32(a, _mm_shuffle_epi32(a, _MM_SHUFFLE(1, 0, 3, 2)));
    a = _mm_add_epi32(a, _mm_shuffle_epi32(a, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(a);
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

static inline void quantize_row(const sl_act *act, size_t t)
{
    const float *row = act->f32 + t * act->ldf;
    for (size_t g = 0; g < act->G; g++) {
        const size_t at = t * act->G + g, k = g * SL_GROUP, n = SL_MIN(act->K - k, (size_t)SL_GROUP);
        __m256 x[4];
        for (size_t v = 0; v < 4; v++) {
            const size_t left = n > 8 * v ? n - 8 * v : 0;
            x[v] = left >= 8 ? _mm256_loadu_ps(row + k + 8 * v) : _mm256_maskload_ps(row + k + 8 * v, lanes8(left));
        }
        const uint32_t top = top_bits(x);
        const float d = top < 0x7f800000u ? sl_f32_from_bits(top) / 127.0f : NAN;
        const __m256i q = quantize_group(x, d);
        const __m256i lo = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(q));
        const __m256i hi = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(q, 1));
        const __m256i ones = _mm256_set1_epi16(1);
        const int32_t sum = hsum8_epi32(_mm256_madd_epi16(_mm256_add_epi16(lo, hi), ones));

        _mm256_storeu_si256((__m256i *)(act->q8 + at * SL_GROUP), q);
        if (act->q16) {
            _mm256_storeu_si256((__m256i *)(act->q16 + at * SL_GROUP), lo);
            _mm256_storeu_si256((__m256i *)(act->q16 + at * SL_GROUP + 16), hi);
        }
        act->d[at] = d;
        act->sum[at] = sum;
        act->dsum[at] = d * (float)sum;
    }
}

void sl_quantize_avx2(const sl_act *act, size_t t0, size_t t1)
{
    assert(act->G == sl_div_up(act->K, SL_GROUP));
    for (size_t t = t0; t < t1; t++)
        quantize_row(act, t);
}
