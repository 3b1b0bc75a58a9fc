/* quantize_e4m3.c - activations rounded to 8-bit floats, 8 at once. */
#include "kernels/avx2/quantize_in.h"

/* To the nearest numbers of E4M3, ties to even: 2^20 times a number's power of two, but at least 2^14, has units that
 * are the steps there, so that a sum with it is rounded to them; taking it away again is exact. */
static inline __m256 nearest8(__m256 v)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256 a = _mm256_min_ps(_mm256_andnot_ps(sign, v), _mm256_set1_ps(448.0f));
    const __m256i power = _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(0x7f800000));
    const __m256i least = _mm256_set1_epi32((127 - 6) << 23);
    const __m256i large = _mm256_add_epi32(_mm256_max_epi32(power, least), _mm256_set1_epi32(20 << 23));
    const __m256 m = _mm256_castsi256_ps(large);
    return _mm256_or_ps(_mm256_sub_ps(_mm256_add_ps(a, m), m), _mm256_and_ps(sign, v));
}

void sl_round_e4m3_avx2(float *y, const float *x, size_t n, bool power)
{
    const uint32_t top = top_bits_of_row(x, n);
    float d = top < 0x7f800000u ? sl_f32_from_bits(top) / 448.0f : NAN;
    if (power && d > 0.0f)
        d = sl_power_from(d);
    const __m256 scale = _mm256_set1_ps(d);
    for (size_t i = 0; i < n; i += 8) {
        const size_t some = SL_MIN(n - i, (size_t)8);
        const __m256 v = load_some(x + i, some);
        store_some(y + i, d > 0.0f ? _mm256_mul_ps(nearest8(_mm256_div_ps(v, scale)), scale) : scale, some);
    }
}
