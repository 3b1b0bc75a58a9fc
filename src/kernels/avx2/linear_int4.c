/* linear_int4.c - INT4 and INT4_ZP as panel type u4 (see linear_u_in.h): neighbouring nibbles, scales beside them, of
 * INT4_ZP zero points too. */
#include "kernels/avx2/linear_u_in.h"
#include "kernels/avx2/scales_in.h"

#define GROUP_BYTES (SL_GROUP / 2)
#define TURNED_MAX  2 /* tokens up to which it pays to turn activations */

/* Where a function takes `zeros`, it is a constant: it is inlined once for each. */

/* 32 columns of 8 rows: q[i] holds for each row the columns 4i .. 4i+3. */
SL_ALWAYS_INLINE void nibbles(__m256i q[8], const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    const __m256i low = _mm256_set1_epi8(15);
    __m256i v[4];
    transpose_dwords(v, row, at);
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        const __m256i even = _mm256_and_si256(v[i], low), odd = _mm256_and_si256(_mm256_srli_epi16(v[i], 4), low);
        /* 8 columns of rows 0, 1 (and 4, 5), then of rows 2, 3 (and 6, 7) */
        const __m256 a = _mm256_castsi256_ps(_mm256_unpacklo_epi8(even, odd));
        const __m256 b = _mm256_castsi256_ps(_mm256_unpackhi_epi8(even, odd));
        q[2 * i] = _mm256_castps_si256(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
        q[2 * i + 1] = _mm256_castps_si256(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
    }
}

/* One group of 8 rows times n tokens, as add_group; the numbers as they lie, the activations turned instead: for one or
 * two tokens that is less work. The sums are the same whole numbers. */
SL_ALWAYS_INLINE void add_turned(__m256 *acc, const uint8_t *const row[SL_PANEL_ROWS], size_t at, const scale_rows *w,
                                 act_at x, size_t n, bool zeros)
{
    const __m256i low = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
    const __m256i even = _mm256_set1_epi32(0x06040200), odd = _mm256_set1_epi32(0x07050301);
    __m256i v[4], s[LINEAR_TILE];
    transpose_dwords(v, row, at);
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        const __m256i a = _mm256_and_si256(v[i], low), b = _mm256_and_si256(_mm256_srli_epi16(v[i], 4), low);
        UNROLL
        for (size_t t = 0; t < n; t++) {
            const __m256i eight = _mm256_set1_epi64x((int64_t)sl_load_le64(x.q + t * x.ldq + 8 * i));
            const __m256i p = _mm256_maddubs_epi16(a, _mm256_shuffle_epi8(eight, even));
            s[t] = i ? _mm256_add_epi16(s[t], p) : p;
            s[t] = _mm256_add_epi16(s[t], _mm256_maddubs_epi16(b, _mm256_shuffle_epi8(eight, odd)));
            IN_ORDER(s[t]);
        }
    }
    UNROLL
    for (size_t t = 0; t < n; t++) {
        const __m256i offset = zeros ? zeros_times(w->z, x.half + t * x.ldg * 2)
                                     : _mm256_madd_epi16(broadcast4(x.eight + t * x.ldg * 2), ones);
        acc[t] = add_scaled(acc[t], _mm256_sub_epi32(_mm256_madd_epi16(s[t], ones), offset), w->d, x.d[t * x.ldg]);
    }
}

SL_ALWAYS_INLINE void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, bool zeros)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    scale_rows scales = scale_rows_begin(w, r0, r1, k0);
    uint8_t *out = dst;
    for (size_t k = k0; k < k1; k += SL_GROUP) {
        __m256i q[8];
        nibbles(q, row, k / 2);
        scale_rows_at(&scales, k, zeros);
        UNROLL
        for (size_t i = 0; i < 8; i++)
            store_i(out + offsetof(u_offset_group, q[i]), q[i]);
        _mm256_storeu_ps((float *)(void *)(out + offsetof(u_offset_group, d)), scales.d);
        if (zeros)
            store_i(out + offsetof(u_offset_group, z), scales.z);
        out += zeros ? sizeof(u_offset_group) : sizeof(u_group);
    }
}

/* n tokens x 8 rows, asking for later ones on the way. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                  const sl_act *x, size_t t, size_t n, bool zeros)
{
    const u_kind kind = { .offset = zeros ? U_ZEROS : U_MIDDLE };
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    scale_rows scales = scale_rows_begin(w, r0, r1, 0);
    const onward ahead = onward_rows(row[0], w, r1, next);
    __m256 acc[LINEAR_TILE];
    zero_tile(acc, n);
    for (size_t g = 0; g < x->G; g++) {
        scale_rows_at(&scales, g * SL_GROUP, zeros);
        if (n <= TURNED_MAX) {
            add_turned(acc, row, g * GROUP_BYTES, &scales, act_group(x, t, g), n, zeros);
        } else {
            __m256i q[8];
            nibbles(q, row, g * GROUP_BYTES);
            add_group(acc, q, scales.d, _mm256_castsi256_ps(scales.z), act_group(x, t, g), n, kind);
        }
        fetch_onward(&ahead, SL_PANEL_ROWS * g * GROUP_BYTES, SL_PANEL_ROWS * GROUP_BYTES);
    }
    store_tile(y, ldy, acc, SL_MIN(SL_PANEL_ROWS, r1 - r0), n);
}

#define FORMAT(id, zeros)                                                                                              \
    static DECODE_WITH(decode_##id, decode, zeros)                                                                     \
    static NARROW_BY_ROWS(narrow_##id, narrow_tile, zeros)
FORMAT(INT4, false)
FORMAT(INT4_ZP, true)
#undef FORMAT

void sl_linear_init_avx2_int4(sl_kernels *k)
{
    k->panel[SL_FORMAT_INT4][SL_ACT_Q8] = u_panel((u_kind){ 0 }, decode_INT4, narrow_INT4, LINEAR_TILE, NULL);
    k->panel[SL_FORMAT_INT4_ZP][SL_ACT_Q8] =
        u_panel((u_kind){ .offset = U_ZEROS }, decode_INT4_ZP, narrow_INT4_ZP, LINEAR_TILE, NULL);
}
