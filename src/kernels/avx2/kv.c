/* kv.c - writing keys and values into a page. Values lie in one piece; a key is spread over
 * its block of the page, so 8 are rounded at once and stored one by one. int8: two passes over the head, one
 * for the scale, and 32 numbers at a time. */
#include "kernels/avx2/quantize_in.h"

#include <string.h>

/* 8 numbers to bf16, nearest even; a NaN keeps its sign and turns quiet. */
static inline __m128i bf16_from8(__m256 x)
{
    const __m256i u = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i high = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
}

SL_ALWAYS_INLINE __m128i round8(sl_kv_type type, __m256 x)
{
    return type == SL_KV_F16 ? _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT) : bf16_from8(x);
}

SL_ALWAYS_INLINE void write_k16(sl_kv_type type, const sl_kv_head *h, size_t at, const float *x)
{
    uint16_t *k = h->data;
    for (size_t c = 0; c < h->C; c += 8) {
        const size_t n = SL_MIN(h->C - c, (size_t)8);
        uint16_t b[8];
        _mm_storeu_si128((__m128i *)b, round8(type, _mm256_maskload_ps(x + c, lanes8(n))));
        for (size_t i = 0; i < n; i++)
            k[sl_kv_k_index(SL_KV_GROUPED, type, h, at, c + i)] = b[i];
    }
}

SL_ALWAYS_INLINE void write_v16(sl_kv_type type, const sl_kv_head *h, size_t at, const float *x)
{
    uint16_t *v = (uint16_t *)h->data + at * h->C;
    size_t c = 0;
    for (; c + 8 <= h->C; c += 8)
        _mm_storeu_si128((__m128i *)(v + c), round8(type, _mm256_loadu_ps(x + c)));
    if (c < h->C) {
        uint16_t b[8];
        _mm_storeu_si128((__m128i *)b, round8(type, _mm256_maskload_ps(x + c, lanes8(h->C - c))));
        memcpy(v + c, b, (h->C - c) * sizeof *v);
    }
}

void sl_kv_write_k_f16_avx2(const sl_kv_head *h, size_t at, const float *x)
{
    write_k16(SL_KV_F16, h, at, x);
}

void sl_kv_write_k_bf16_avx2(const sl_kv_head *h, size_t at, const float *x)
{
    write_k16(SL_KV_BF16, h, at, x);
}

void sl_kv_write_v_f16_avx2(const sl_kv_head *h, size_t at, const float *x)
{
    write_v16(SL_KV_F16, h, at, x);
}

void sl_kv_write_v_bf16_avx2(const sl_kv_head *h, size_t at, const float *x)
{
    write_v16(SL_KV_BF16, h, at, x);
}

/* ---- int8 ------------------------------------------------------------------------ */

static float head_scale(const float *x, size_t C)
{
    uint32_t top = 0;
    for (size_t c = 0; c < C; c += 32) {
        __m256 v[4];
        load_group(v, x + c, SL_MIN(C - c, (size_t)32));
        top = SL_MAX(top, top_bits(v));
    }
    return scale_of(top);
}

/* Numbers c .. c+32 of a head, zeros beyond C. */
static inline __m256i head_part(const float *x, size_t c, size_t C, float d)
{
    __m256 v[4];
    load_group(v, x + c, SL_MIN(C - c, (size_t)32));
    return quantize_group(v, d);
}

float sl_quantize_head_avx2(int8_t *q, const float *x, size_t C)
{
    const float d = head_scale(x, C);
    for (size_t c = 0; c < C; c += 32)
        store_i(q + c, head_part(x, c, C, d));
    return d;
}

void sl_kv_write_k_int8_avx2(const sl_kv_head *h, size_t at, const float *x)
{
    const float d = head_scale(x, h->C);
    for (size_t c = 0; c < h->C; c += 32) {
        int32_t four[8];
        store_i(four, head_part(x, c, h->C, d));
        const size_t n = sl_div_up(SL_MIN(h->C - c, (size_t)32), 4);
        for (size_t i = 0; i < n; i++)
            memcpy((int8_t *)h->data + sl_kv_k_index(SL_KV_GROUPED, SL_KV_INT8, h, at, c + 4 * i), &four[i],
                   sizeof four[i]);
    }
    h->scale[at] = d;
}

void sl_kv_write_v_int8_avx2(const sl_kv_head *h, size_t at, const float *x)
{
    int8_t *v = (int8_t *)h->data + at * h->C;
    const float d = head_scale(x, h->C);
    for (size_t c = 0; c < h->C; c += 32) {
        int8_t q[32];
        store_i(q, head_part(x, c, h->C, d));
        memcpy(v + c, q, SL_MIN(h->C - c, sizeof q));
    }
    h->scale[at] = d;
}
