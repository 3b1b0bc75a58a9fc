/* decode_f32.c - block formats as panels of f32 (see linear_f32.c), for f32 activations.
 * The values are those of the reference in quant/: a product rounds before its minimum is added. */
#include "kernels/avx2/linear_in.h"

/* 8 whole numbers of row i, columns 8c .. 8c+7 of a group, to their place in the group's panel. */
SL_ALWAYS_INLINE void put(float *group, size_t i, size_t c, __m256i q, __m256 d)
{
    _mm256_storeu_ps(group + (c * SL_PANEL_ROWS + i) * 8, _mm256_mul_ps(_mm256_cvtepi32_ps(q), d));
}

SL_ALWAYS_INLINE void put_min(float *group, size_t i, size_t c, __m256i q, __m256 d, __m256 m)
{
    _mm256_storeu_ps(group + (c * SL_PANEL_ROWS + i) * 8, _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(q), d), m));
}

SL_ALWAYS_INLINE __m256 half_at(const uint8_t *p)
{
    return _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(sl_load_le16(p))));
}

SL_ALWAYS_INLINE __m128i load8(const void *p)
{
    return _mm_loadl_epi64((const __m128i *)p);
}

void sl_decode_f32_avx2_q8_0(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    float *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out += SL_GROUP * SL_PANEL_ROWS)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
            const uint8_t *b = row[i] + g * sizeof(sl_block_q8_0);
            const __m256 d = half_at(b);
            for (size_t c = 0; c < 4; c++)
                put(out, i, c, _mm256_cvtepi8_epi32(load8(b + offsetof(sl_block_q8_0, q) + 8 * c)), d);
        }
}

void sl_decode_f32_avx2_q4_0(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const __m128i low = _mm_set1_epi8(15), eight = _mm_set1_epi8(8);
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    float *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out += SL_GROUP * SL_PANEL_ROWS)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
            const uint8_t *b = row[i] + g * sizeof(sl_block_q4_0);
            const __m256 d = half_at(b);
            for (size_t c = 0; c < 2; c++) {
                const __m128i q = load8(b + offsetof(sl_block_q4_0, q) + 8 * c);
                const __m128i lo = _mm_and_si128(q, low), hi = _mm_and_si128(_mm_srli_epi16(q, 4), low);
                put(out, i, c, _mm256_cvtepi8_epi32(_mm_sub_epi8(lo, eight)), d);
                put(out, i, c + 2, _mm256_cvtepi8_epi32(_mm_sub_epi8(hi, eight)), d);
            }
        }
}

void sl_decode_f32_avx2_q4_1(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const __m128i low = _mm_set1_epi8(15);
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    float *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out += SL_GROUP * SL_PANEL_ROWS)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
            const uint8_t *b = row[i] + g * sizeof(sl_block_q4_1);
            const __m256 d = half_at(b), m = half_at(b + offsetof(sl_block_q4_1, m));
            for (size_t c = 0; c < 2; c++) {
                const __m128i q = load8(b + offsetof(sl_block_q4_1, q) + 8 * c);
                const __m128i lo = _mm_and_si128(q, low), hi = _mm_and_si128(_mm_srli_epi16(q, 4), low);
                put_min(out, i, c, _mm256_cvtepu8_epi32(lo), d, m);
                put_min(out, i, c + 2, _mm256_cvtepu8_epi32(hi), d, m);
            }
        }
}
