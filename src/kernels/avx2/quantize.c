/* quantize.c - activations to 8 bits, in groups of 32 or in rows; a group in four registers. */
#include "kernels/avx2/quantize_in.h"

#include <assert.h>
#include <string.h>

#include "quant/blocks.h"

/* sl_act.half and .eight of a group; returns the sum of all. */
static inline int sums(int16_t half[2], int16_t eight[2], __m256i q)
{
    /* Of two neighbours; then, in every 32 bits of a half, of its even and of its odd pairs. */
    __m256i v = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
    v = _mm256_add_epi16(v, _mm256_shuffle_epi32(v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = _mm256_add_epi16(v, _mm256_shuffle_epi32(v, _MM_SHUFFLE(2, 3, 0, 1)));
    const __m128i turns = _mm_add_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const int32_t both = _mm_cvtsi128_si32(_mm_slli_epi16(turns, 3));
    memcpy(eight, &both, sizeof both);
    const __m256i h = _mm256_madd_epi16(v, _mm256_set1_epi16(1));
    const int first = _mm_cvtsi128_si32(_mm256_castsi256_si128(h));
    const int second = _mm_cvtsi128_si32(_mm256_extracti128_si256(h, 1));
    half[0] = (int16_t)first;
    half[1] = (int16_t)second;
    return first + second;
}

static inline void quantize_row(const sl_act *act, size_t t)
{
    const float *row = act->f32 + t * act->ldf, of_row = act->token ? scale_of(top_bits_of_row(row, act->K)) : 0.0f;
    for (size_t g = 0; g < act->G; g++) {
        const size_t at = t * act->G + g, k = g * SL_GROUP, n = SL_MIN(act->K - k, (size_t)SL_GROUP);
        __m256 x[4];
        load_group(x, row + k, n);
        const float d = act->token ? of_row : scale_of(top_bits(x));
        const __m256i q = quantize_group(x, d);
        store_i(act->q8 + at * SL_GROUP, q);
        if (act->q16) {
            int16_t *wide = act->q16 + at * SL_GROUP;
            store_i(wide, _mm256_cvtepi8_epi16(_mm256_castsi256_si128(q)));
            store_i(wide + 16, _mm256_cvtepi8_epi16(_mm256_extracti128_si256(q, 1)));
        }
        act->d[at] = d;
        act->dsum[at] = d * (float)sums(act->half + 2 * at, act->eight + 2 * at, q);
    }
}

void sl_quantize_avx2(const sl_act *act, size_t t0, size_t t1)
{
    assert(act->G == sl_div_up(act->K, SL_GROUP));
    for (size_t t = t0; t < t1; t++)
        quantize_row(act, t);
}
