/* linear_s16_in.h - weights widened to s16 in registers, times 8-bit activations, exactly.
 *
 * A panel group is 8 rows x 32 columns: q[i] holds for each row the pair of weights k = 2i, 2i+1, then the
 * rows' scales and, for formats with minima, those. pmaddwd with the widened activations; no sum comes near
 * s32 (32 * 4096 * 127 is 16,646,144, which f32 holds exactly too).
 *
 * Per group of an element, in the order of groups (this sequence is the panel type's definition):
 *   s    = sum of w * x, exact
 *   acc  = fma(s, d * dx, acc)
 *   acc  = fma(m, dsum, acc)      with minima only */
#ifndef SL_KERNELS_AVX2_LINEAR_S16_IN_H
#define SL_KERNELS_AVX2_LINEAR_S16_IN_H

#include "kernels/avx2/linear_in.h"

typedef struct s16_group {
    int16_t q[16][16];
    float d[8];
} s16_group;

typedef struct s16_min_group {
    int16_t q[16][16];
    float d[8], m[8];
} s16_min_group;

#define S16_BLOCK 1024 /* columns: a panel of 17 KiB stays in L1 beside its activations */

sl_panel_micro_fn sl_micro_s16_avx2; /* over s16_group */

SL_ALWAYS_INLINE __m256 add_scaled(__m256 acc, __m256i sum, __m256 d, float dx)
{
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(d, _mm256_set1_ps(dx)), acc);
}

/* 4 signed bytes of each row as pairs of s16: of k = 0, 1 and of k = 2, 3. */
SL_ALWAYS_INLINE void widen_pairs(__m256i *first, __m256i *second, __m256i v)
{
    /* b0 b1 b2 b3 -> b0 b2 b1 b3: the low bytes of the words are then the first pair. */
    const __m256i order = _mm256_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15, 0, 2, 1, 3, 4, 6, 5, 7,
                                           8, 10, 9, 11, 12, 14, 13, 15);
    const __m256i pairs = _mm256_shuffle_epi8(v, order);
    *first = _mm256_srai_epi16(_mm256_slli_epi16(pairs, 8), 8);
    *second = _mm256_srai_epi16(pairs, 8);
}

/* One group of signed bytes, v[i] = k 4i .. 4i+3 of 8 rows, times the n tokens from t on: |w| times the activation with
 * the sign of w. maddubs adds 2 products of at most 128 * 127, which is 32,512: no saturation, as activations
 * are -127..127. n is a constant where this is inlined. */
SL_ALWAYS_INLINE void add_bytes(__m256 *acc, const __m256i v[8], __m256 scale, const sl_act *x, size_t t, size_t g,
                                size_t n)
{
    __m256i s[LINEAR_TILE];
    UNROLL
    for (size_t i = 0; i < 8; i++) {
        const __m256i abs = _mm256_abs_epi8(v[i]);
        UNROLL
        for (size_t j = 0; j < n; j++) {
            const __m256i a = broadcast4(x->q8 + ((t + j) * x->G + g) * SL_GROUP + 4 * i);
            const __m256i p = _mm256_maddubs_epi16(abs, _mm256_sign_epi8(a, v[i]));
            const __m256i sum = _mm256_madd_epi16(p, _mm256_set1_epi16(1));
            s[j] = i ? _mm256_add_epi32(s[j], sum) : sum;
            IN_ORDER(s[j]);
        }
    }
    UNROLL
    for (size_t j = 0; j < n; j++)
        acc[j] = add_scaled(acc[j], s[j], scale, x->d[(t + j) * x->G + g]);
}

#endif
