/* linear_u_in.h - weights without sign of 4 or 5 bits in registers, times 8-bit activations.
 *
 * A group is 8 rows x 32 columns: q[i] holds for each row its 4 weights k = 4i .. 4i+3, then the rows' scales and, for
 * formats with minima or zero points, those. One activation word, broadcast, meets 8 rows.
 *
 * Per group of an element, in the order of groups (this sequence is the panel type's definition):
 *   s    = sum of w * x - z * sum of x, exact; z is 0 with minima, the zero point, or 8 (4 bits) or 16 (5 bits)
 *   acc  = fma(m, dsum, acc)      with minima only; first, for s comes late
 *   acc  = fma(s, d * dx, acc)
 *
 * No sum can saturate: maddubs adds 2 products, and an s16 lane takes 16 products of at most 15 * 127,
 * which is 30,480, or 8 of at most 31 * 127, which is 31,496. */
#ifndef SL_KERNELS_AVX2_LINEAR_U_IN_H
#define SL_KERNELS_AVX2_LINEAR_U_IN_H

#include "kernels/avx2/linear_in.h"

/* What stored numbers are taken from. */
typedef enum u_offset {
    U_MIDDLE, /* 8 or 16 */
    U_MINIMA, /* nothing: d * q + m */
    U_ZEROS,  /* zero points, whole numbers of at most 16 */
} u_offset;

/* Constants where they are passed on: functions that take one are inlined for each. */
typedef struct u_kind {
    bool five; /* bits; else four */
    u_offset offset;
} u_kind;

typedef struct u_group {
    uint8_t q[8][32];
    float d[8];
} u_group;

/* With minima or zero points; of these each twice, as s16. */
typedef struct u_offset_group {
    uint8_t q[8][32];
    float d[8];
    union {
        float m[8];
        int16_t z[8][2];
    };
} u_offset_group;

#define U_BLOCK 1024 /* columns: two panels of 10 KiB stay in L1 beside the activations of a tile */

/* Micro over groups of this kind (linear_u.c). */
sl_panel_micro_fn sl_micro_u4_avx2, sl_micro_u4_mins_avx2, sl_micro_u4_zeros_avx2;
sl_panel_micro_fn sl_micro_u5_avx2, sl_micro_u5_mins_avx2;

/* sum[i] = exact sums of products of one group of 8 rows, which are q[i / n], and token i % n, for `panels` times 8
 * rows. With U_MIDDLE they begin at -8 or -16 times the activations of each lane: what remains is (q - 8) or (q - 16)
 * times 16 activations, at most 32,512 (on the way the additions may wrap around, which does no harm). */
SL_ALWAYS_INLINE void sum_groups(__m256i *sum, const __m256i *const *q, size_t panels, act_at x, size_t n, u_kind kind)
{
    const size_t part = kind.five ? 4 : 8;
    __m256i s[LINEAR_TILE_MAX];
    UNROLL
    for (size_t i = 0; i < 8; i++) {
        __m256i w[2];
        UNROLL
        for (size_t p = 0; p < panels; p++) {
            w[p] = q[p][i];
            IN_ORDER(w[p]); /* loaded once, not for each token */
        }
        UNROLL
        for (size_t t = 0; t < n; t++) {
            const __m256i a = act_word(x, t, i);
            UNROLL
            for (size_t p = 0; p < panels; p++) {
                const size_t j = p * n + t;
                const __m256i product = _mm256_maddubs_epi16(w[p], a);
                if (i == 0 && kind.offset == U_MIDDLE) {
                    const __m256i eight = broadcast4(x.eight + t * x.ldg * 2);
                    s[j] = _mm256_sub_epi16(product, kind.five ? _mm256_add_epi16(eight, eight) : eight);
                } else {
                    s[j] = i % part ? _mm256_add_epi16(s[j], product) : product;
                }
                IN_ORDER(s[j]);
            }
        }
        if (i % part != part - 1)
            continue;
        UNROLL
        for (size_t j = 0; j < panels * n; j++) {
            const __m256i wide = _mm256_madd_epi16(s[j], _mm256_set1_epi16(1));
            sum[j] = i < part ? wide : _mm256_add_epi32(sum[j], wide);
        }
    }
}

/* What is taken from the sums of a group: z (as in u_offset_group) times the activations, whose two halves lie at
 * `half`. */
SL_ALWAYS_INLINE __m256i zeros_times(__m256i z, const int16_t *half)
{
    return _mm256_madd_epi16(z, broadcast4(half));
}

/* One group of `panels` times 8 rows times n tokens, into acc as sum_groups; m: minima, or the bits of zero points as
 * in u_offset_group. panels, n and kind are constants where this is inlined. */
SL_ALWAYS_INLINE void add_groups(__m256 *acc, const __m256i *const *q, const __m256 *d, const __m256 *m, size_t panels,
                                 act_at x, size_t n, u_kind kind)
{
    __m256i sum[LINEAR_TILE_MAX];
    sum_groups(sum, q, panels, x, n, kind);
    UNROLL
    for (size_t t = 0; t < n; t++) {
        UNROLL
        for (size_t p = 0; p < panels; p++) {
            const size_t j = p * n + t;
            if (kind.offset == U_ZEROS)
                sum[j] = _mm256_sub_epi32(sum[j], zeros_times(_mm256_castps_si256(m[p]), x.half + t * x.ldg * 2));
            const __m256 scale = _mm256_mul_ps(d[p], _mm256_set1_ps(x.d[t * x.ldg]));
            if (kind.offset == U_MINIMA)
                acc[j] = _mm256_fmadd_ps(m[p], _mm256_set1_ps(x.dsum[t * x.ldg]), acc[j]);
            acc[j] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[j]), scale, acc[j]);
        }
    }
}

SL_ALWAYS_INLINE void add_group(__m256 *acc, const __m256i *q, __m256 d, __m256 m, act_at x, size_t n, u_kind kind)
{
    add_groups(acc, &q, &d, &m, 1, x, n, kind);
}

/* A format that is decoded to the panel type of this kind. few: NULL for none. */
static inline sl_panel u_panel(u_kind kind, sl_panel_decode_fn *decode, sl_panel_narrow_fn *narrow, size_t narrow_max,
                               sl_panel_few_fn *few)
{
    static sl_panel_micro_fn *const four[] = {
        [U_MIDDLE] = sl_micro_u4_avx2, [U_MINIMA] = sl_micro_u4_mins_avx2, [U_ZEROS] = sl_micro_u4_zeros_avx2
    };
    static sl_panel_micro_fn *const five[] = { [U_MIDDLE] = sl_micro_u5_avx2, [U_MINIMA] = sl_micro_u5_mins_avx2 };
    return (sl_panel){ .name = kind.five ? "u5 x8" : "u4 x8",
                       .needs = SL_NEED_Q8,
                       .narrow_needs = SL_NEED_Q8,
                       .group_bytes = kind.offset == U_MIDDLE ? sizeof(u_group) : sizeof(u_offset_group),
                       .k_block = U_BLOCK,
                       .decode = decode,
                       .micro = (kind.five ? five : four)[kind.offset],
                       .few_panels = 2,
                       .narrow = narrow,
                       .narrow_max = narrow_max,
                       .few = few };
}

#endif
