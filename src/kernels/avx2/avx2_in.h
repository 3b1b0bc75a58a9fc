/* avx2_in.h - what the AVX2 files share: masks for tails, sums of lanes, exp.
 *
 * A tail runs the same instructions as a full vector, through masked loads, so that an
 * element's bits do not depend on where in a row it stands. */
#ifndef SL_KERNELS_AVX2_AVX2_IN_H
#define SL_KERNELS_AVX2_AVX2_IN_H

#include <immintrin.h>
#include "kernels/kernels_in.h"

#define SL_ALWAYS_INLINE static inline __attribute__((always_inline))

/* Unroll loops of constant length, so that their arrays are registers. Not under a sanitizer: its
 * checks of each access, unrolled, take a compiler minutes and a gigabyte. The sums are the same. */
#ifdef __clang__
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNROLL _Pragma("clang loop unroll(disable)")
#else
#define UNROLL _Pragma("clang loop unroll(full)")
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

sl_rms_norm_fn sl_rms_norm_avx2;
sl_add_fn sl_add_avx2;
sl_mul_fn sl_mul_avx2;
sl_scale_fn sl_scale_avx2;
sl_add_scaled_fn sl_add_scaled_avx2;
sl_silu_fn sl_silu_avx2;
sl_clamped_glu_fn sl_clamped_glu_avx2;
sl_quantize_fn sl_quantize_avx2;
sl_round_e4m3_fn sl_round_e4m3_avx2;
sl_turn_fn sl_turn_avx2;
sl_rope_fn sl_rope_half_avx2, sl_rope_adjacent_avx2;
sl_quantize_head_fn sl_quantize_head_avx2;
sl_kv_write_fn sl_kv_write_k_f16_avx2, sl_kv_write_k_bf16_avx2, sl_kv_write_k_int8_avx2;
sl_kv_write_fn sl_kv_write_v_f16_avx2, sl_kv_write_v_bf16_avx2, sl_kv_write_v_int8_avx2;
sl_attn_scores_fn sl_attn_scores_f32_avx2, sl_attn_scores_f16_avx2, sl_attn_scores_bf16_avx2, sl_attn_scores_int8_avx2;
sl_attn_scores_fn sl_attn_scores_token_f32_avx2, sl_attn_scores_token_f16_avx2, sl_attn_scores_token_bf16_avx2,
    sl_attn_scores_token_int8_avx2;
sl_attn_softmax_fn sl_attn_softmax_avx2;
sl_attn_mix_fn sl_attn_mix_f32_avx2, sl_attn_mix_f16_avx2, sl_attn_mix_bf16_avx2, sl_attn_mix_int8_avx2;
sl_attn_fold_fn sl_attn_fold_avx2;

/* Lanes 0..n of 8 are set, the others clear; n <= 8. */
static inline __m256i lanes8(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline __m128i lanes4(size_t n)
{
    return _mm_cmpgt_epi32(_mm_set1_epi32((int)n), _mm_setr_epi32(0, 1, 2, 3));
}

SL_ALWAYS_INLINE __m256i load_i(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}
SL_ALWAYS_INLINE void store_i(void *p, __m256i v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

/* The first n <= 8 of 8 neighbours, then zeros; the others are neither read nor written. */
SL_ALWAYS_INLINE __m256 load_some(const float *x, size_t n)
{
    return n == 8 ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, lanes8(n));
}
SL_ALWAYS_INLINE void store_some(float *y, __m256 v, size_t n)
{
    if (n == 8)
        _mm256_storeu_ps(y, v);
    else
        _mm256_maskstore_ps(y, lanes8(n), v);
}

static inline float hsum8(__m256 v)
{
    const __m128 a = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 b = _mm_add_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

static inline int32_t hsum8_epi32(__m256i v)
{
    __m128i a = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    a = _mm_add_epi32(a, _mm_shuffle_epi32(a, _MM_SHUFFLE(1, 0, 3, 2)));
    a = _mm_add_epi32(a, _mm_shuffle_epi32(a, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(a);
}

/* e^(x - n ln 2) by a polynomial that is minimax in the relative error, for whole numbers n that leave at most ln 2 / 2
 * of x. */
static inline __m256 exp8_rest(__m256 x, __m256 n)
{
    /* ln 2 = 0x1.62e430p-1 - 0x1.05c610p-29 */
    const __m256 r =
        _mm256_fmadd_ps(n, _mm256_set1_ps(0x1.05c610p-29f), _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.62e430p-1f), x));
    __m256 p = _mm256_set1_ps(0x1.6a2416p-10f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.1239f4p-7f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.5558f2p-5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.555492p-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.fffffcp-2f));
    p = _mm256_fmadd_ps(_mm256_mul_ps(r, r), p, r);
    return _mm256_add_ps(p, _mm256_set1_ps(1.0f));
}

/* e^x within 1.01 ulp: x = n ln 2 + r, e^r times 2^n. 2^n goes on in two factors, so that results below 2^-126 are
 * rounded once, overflow gives infinity and -infinity gives 0 without a branch. NaN stays NaN: it is
 * the second operand of min and max, which they return. */
static inline __m256 exp8(__m256 x)
{
    const __m256 c = _mm256_max_ps(_mm256_set1_ps(-105.0f), _mm256_min_ps(_mm256_set1_ps(89.0f), x));
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(c, _mm256_set1_ps(0x1.715476p+0f)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 p = exp8_rest(c, n);
    const __m256i i = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(i, 1);
    const __m256i bias = _mm256_set1_epi32(127);
    const __m256i e1 = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i e2 = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(i, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(p, _mm256_castsi256_ps(e1)), _mm256_castsi256_ps(e2));
}

#endif
