/* quantize.c - activations to 8 bits in groups of 32, a group in four registers. */
#include "kernels/avx2/quantize_in.h"

#include <assert.h>

#include "quant/blocks.h"

static inline void quantize_row(const sl_act *act, size_t t)
{
    const float *row = act->f32 + t * act->ldf;
    for (size_t g = 0; g < act->G; g++) {
        const size_t at = t * act->G + g, k = g * SL_GROUP, n = SL_MIN(act->K - k, (size_t)SL_GROUP);
        __m256 x[4];
        load_group(x, row + k, n);
        const float d = scale_of(top_bits(x));
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
