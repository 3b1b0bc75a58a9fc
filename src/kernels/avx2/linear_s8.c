/* linear_s8.c - panel type s8 (see linear_s8_in.h): micro, and Q8_0. What chooses its bytes from a table is in
 * linear_lut.c. */
#include "kernels/avx2/linear_s8_in.h"

SL_ALWAYS_INLINE void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1,
                             bool interleaved)
{
    const stored_rows rows = rows_stored(w, r0, r1, interleaved);
    s8_group *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out++) {
        const size_t at = g * sizeof(sl_block_q8_0);
        __m256i v[8];
        load_8_dwords(v, &rows, at + offsetof(sl_block_q8_0, q));
        UNROLL
        for (size_t i = 0; i < 8; i++)
            store_i(out->q[i], v[i]);
        _mm256_storeu_ps(out->d, load_halves(&rows, at + offsetof(sl_block_q8_0, d)));
    }
}

SL_ALWAYS_INLINE void micro_tile(float *y, size_t ldy, const uint8_t *panel, size_t rows, size_t k0, size_t k1,
                                 const sl_act *x, size_t t, bool first, size_t n)
{
    const s8_group *p = (const s8_group *)(const void *)panel;
    __m256 acc[LINEAR_TILE];
    load_tile(acc, y, ldy, rows, n, first);
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, p++)
        add_bytes(acc, (const __m256i *)(const void *)p->q, _mm256_loadu_ps(p->d), act_group(x, t, g), n);
    store_tile(y, ldy, acc, rows, n);
}

/* n tokens x 8 rows, asking for later ones on the way. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                  const sl_act *x, size_t t, size_t n, bool interleaved)
{
    const stored_rows rows = rows_stored(w, r0, r1, interleaved);
    const onward ahead = onward_rows(rows.row[0], w, r1, next);
    __m256 acc[LINEAR_TILE];
    zero_tile(acc, n);
    for (size_t g = 0, at = 0; g < x->G; g++, at += sizeof(sl_block_q8_0)) {
        __m256i v[8];
        load_8_dwords(v, &rows, at + offsetof(sl_block_q8_0, q));
        keep(v, 8);
        add_bytes(acc, v, load_halves(&rows, at + offsetof(sl_block_q8_0, d)), act_group(x, t, g), n);
        fetch_onward(&ahead, SL_PANEL_ROWS * at, SL_PANEL_ROWS * sizeof(sl_block_q8_0));
    }
    store_tile(y, ldy, acc, SL_MIN(SL_PANEL_ROWS, r1 - r0), n);
}

MICRO_BY_TILES(sl_micro_s8_avx2, micro_tile)

#define FORMAT(id, interleaved)                                                                                        \
    static DECODE_WITH(decode_##id, decode, interleaved)                                                               \
    static NARROW_BY_ROWS(narrow_##id, narrow_tile, interleaved)
FORMAT(Q8_0, false)
FORMAT(Q8_0_R8, true)
#undef FORMAT

void sl_linear_init_avx2_s8(sl_kernels *k)
{
    k->panel[SL_FORMAT_Q8_0][SL_ACT_Q8] = s8_panel(decode_Q8_0, narrow_Q8_0);
    k->panel[SL_FORMAT_Q8_0][SL_ACT_Q8].streams = SL_PANEL_ROWS;
    k->panel[SL_FORMAT_Q8_0_R8][SL_ACT_Q8] = s8_panel(decode_Q8_0_R8, narrow_Q8_0_R8);
}
