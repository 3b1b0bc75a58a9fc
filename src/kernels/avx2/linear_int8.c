/* linear_int8.c - INT8 as panel type s8 (see linear_s8_in.h): bytes, scales beside them. With an offset of 128 the
 * bytes have no sign: their highest bit is turned. */
#include "kernels/avx2/linear_s8_in.h"
#include "kernels/avx2/scales_in.h"

SL_ALWAYS_INLINE __m256i turned_bits(const sl_tensor *w)
{
    return _mm256_set1_epi8((char)w->scales.offset);
}

static void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    scale_rows scales = scale_rows_begin(w, r0, r1, k0);
    const __m256i turn = turned_bits(w);
    s8_group *out = dst;
    for (size_t k = k0; k < k1; k += SL_GROUP, out++) {
        __m256i v[8];
        transpose_group(v, row, k);
        scale_rows_at(&scales, k, false);
        UNROLL
        for (size_t i = 0; i < 8; i++)
            store_i(out->q[i], _mm256_xor_si256(v[i], turn));
        _mm256_storeu_ps(out->d, scales.d);
    }
}

/* n tokens x 8 rows, asking for later ones on the way. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                  const sl_act *x, size_t t, size_t n)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    scale_rows scales = scale_rows_begin(w, r0, r1, 0);
    const __m256i turn = turned_bits(w);
    const onward ahead = onward_rows(row[0], w, r1, next);
    __m256 acc[LINEAR_TILE];
    zero_tile(acc, n);
    for (size_t k = 0; k < x->K; k += SL_GROUP) {
        __m256i v[8];
        transpose_group(v, row, k);
        UNROLL
        for (size_t i = 0; i < 8; i++)
            v[i] = _mm256_xor_si256(v[i], turn);
        scale_rows_at(&scales, k, false);
        add_bytes(acc, v, scales.d, act_group(x, t, k / SL_GROUP), n);
        fetch_onward(&ahead, SL_PANEL_ROWS * k, SL_PANEL_ROWS * SL_GROUP);
    }
    store_tile(y, ldy, acc, SL_MIN(SL_PANEL_ROWS, r1 - r0), n);
}

static NARROW_BY_ROWS(narrow, narrow_tile)

void sl_linear_init_avx2_int8(sl_kernels *k)
{
    sl_panel p = s8_panel(decode, narrow);
    k->panel[SL_FORMAT_INT8][SL_ACT_Q8] = p;
    p.needs = p.narrow_needs = SL_NEED_T8;
    k->panel[SL_FORMAT_INT8_TOKEN][SL_ACT_Q8] = p;
}
