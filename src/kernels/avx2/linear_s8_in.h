/* linear_s8_in.h - signed bytes in registers, times 8-bit activations.
 *
 * A group is 8 rows x 32 columns: q[i] holds for each row its 4 weights k = 4i .. 4i+3, then the rows' scales.
 * |w| meets the activation with the sign of w: maddubs adds 2 products of at most 128 * 127, which is 32,512, so that
 * nothing saturates, as activations are -127..127.
 *
 * Per group of an element, in the order of groups (this sequence is the panel type's definition, and that of s16):
 *   s    = sum of w * x, exact
 *   acc  = fma(s, d * dx, acc) */
#ifndef SL_KERNELS_AVX2_LINEAR_S8_IN_H
#define SL_KERNELS_AVX2_LINEAR_S8_IN_H

#include "kernels/avx2/linear_in.h"

typedef struct s8_group {
    int8_t q[8][32];
    float d[8];
} s8_group;

#define S8_BLOCK 1024 /* columns: a panel of 9 KiB stays in L1 beside its activations */

sl_panel_micro_fn sl_micro_s8_avx2; /* linear_s8.c */

/* 2^(e - 128) of the exponents at `at`: bits e - 1 above the mantissa, or a subnormal for the lowest two. */
SL_ALWAYS_INLINE __m256 powers(const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    const __m256i e = _mm256_setr_epi32(row[0][at], row[1][at], row[2][at], row[3][at], row[4][at], row[5][at],
                                        row[6][at], row[7][at]);
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, small, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e)));
}

/* One group times n tokens; n is a constant where this is inlined. */
SL_ALWAYS_INLINE void add_bytes(__m256 *acc, const __m256i *q, __m256 d, act_at x, size_t n)
{
    __m256i s[LINEAR_TILE];
    UNROLL
    for (size_t i = 0; i < 8; i++) {
        const __m256i w = q[i], abs = _mm256_abs_epi8(w);
        UNROLL
        for (size_t t = 0; t < n; t++) {
            const __m256i a = _mm256_sign_epi8(broadcast4(x.q + t * x.ldq + 4 * i), w);
            const __m256i sum = _mm256_madd_epi16(_mm256_maddubs_epi16(abs, a), _mm256_set1_epi16(1));
            s[t] = i ? _mm256_add_epi32(s[t], sum) : sum;
            IN_ORDER(s[t]);
        }
    }
    UNROLL
    for (size_t t = 0; t < n; t++)
        acc[t] = add_scaled(acc[t], s[t], d, x.d[t * x.ldg]);
}

/* A format that is decoded to this panel type. */
static inline sl_panel s8_panel(sl_panel_decode_fn *decode, sl_panel_narrow_fn *narrow)
{
    return (sl_panel){ .name = "s8 x8",
                       .needs = SL_NEED_Q8,
                       .narrow_needs = SL_NEED_Q8,
                       .group_bytes = sizeof(s8_group),
                       .k_block = S8_BLOCK,
                       .decode = decode,
                       .micro = sl_micro_s8_avx2,
                       .narrow = narrow,
                       .narrow_max = LINEAR_TILE };
}

#endif
