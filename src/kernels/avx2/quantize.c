/* quantize.c - activations to 8 bits, in groups of 32 or in rows; a group in four registers. */
#include "kernels/avx2/quantize_in.h"

#include <assert.h>

#include "quant/blocks.h"

static inline void store_two(int16_t out[2], __m128i v)
{
    out[0] = (int16_t)_mm_extract_epi32(v, 0);
    out[1] = (int16_t)_mm_extract_epi32(v, 1);
}

static inline __m128i add_halves(__m256i v)
{
    return _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/* sl_act.half and .eight of a group. */
static inline void sums(int16_t half[2], int16_t eight[2], __m256i lo, __m256i hi)
{
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i a = _mm256_madd_epi16(lo, ones), b = _mm256_madd_epi16(hi, ones); /* of two neighbours */
    const __m128i halves = add_halves(_mm256_hadd_epi32(a, b));
    store_two(half, _mm_hadd_epi32(halves, halves));
    const __m128i turns = add_halves(_mm256_add_epi32(a, b));
    store_two(eight, _mm_slli_epi32(_mm_add_epi32(turns, _mm_shuffle_epi32(turns, _MM_SHUFFLE(1, 0, 3, 2))), 3));
}

static float scale_of_row(const float *row, size_t K)
{
    uint32_t top = 0;
    for (size_t k = 0; k < K; k += SL_GROUP) {
        __m256 x[4];
        load_group(x, row + k, SL_MIN(K - k, (size_t)SL_GROUP));
        const uint32_t bits = top_bits(x);
        top = SL_MAX(top, bits);
    }
    return scale_of(top);
}

static inline void quantize_row(const sl_act *act, size_t t)
{
    const float *row = act->f32 + t * act->ldf, of_row = act->token ? scale_of_row(row, act->K) : 0.0f;
    for (size_t g = 0; g < act->G; g++) {
        const size_t at = t * act->G + g, k = g * SL_GROUP, n = SL_MIN(act->K - k, (size_t)SL_GROUP);
        __m256 x[4];
        load_group(x, row + k, n);
        const float d = act->token ? of_row : scale_of(top_bits(x));
        const __m256i q = quantize_group(x, d);
        const __m256i lo = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(q));
        const __m256i hi = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(q, 1));
        int16_t *half = act->half + 2 * at;
        sums(half, act->eight + 2 * at, lo, hi);

        _mm256_storeu_si256((__m256i *)(act->q8 + at * SL_GROUP), q);
        if (act->q16) {
            _mm256_storeu_si256((__m256i *)(act->q16 + at * SL_GROUP), lo);
            _mm256_storeu_si256((__m256i *)(act->q16 + at * SL_GROUP + 16), hi);
        }
        act->d[at] = d;
        act->dsum[at] = d * (float)(half[0] + half[1]);
    }
}

void sl_quantize_avx2(const sl_act *act, size_t t0, size_t t1)
{
    assert(act->G == sl_div_up(act->K, SL_GROUP));
    for (size_t t = t0; t < t1; t++)
        quantize_row(act, t);
}
