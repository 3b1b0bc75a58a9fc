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

/* n tokens x 8 rows each of `panels`, asking for later ones on the way. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                  const sl_act *x, size_t t, size_t n, bool interleaved, size_t panels)
{
    stored_rows rows[SIDE_PANELS];
    panels_stored(rows, w, r0, r1, interleaved, panels);
    const onward ahead = onward_rows(rows[0].row[0], w, r1, next);
    __m256 acc[LINEAR_TILE_MAX];
    zero_tile(acc, n * panels);
    for (size_t g = 0, at = 0; g < x->G; g++, at += sizeof(sl_block_q8_0)) {
        UNROLL
        for (size_t p = 0; p < panels; p++) {
            __m256i v[8];
            load_8_dwords(v, &rows[p], at + offsetof(sl_block_q8_0, q));
            keep(v, 8);
            add_bytes(acc + p * n, v, load_halves(&rows[p], at + offsetof(sl_block_q8_0, d)), act_group(x, t, g), n);
        }
        fetch_onward(&ahead, SL_PANEL_ROWS * at, SL_PANEL_ROWS * sizeof(sl_block_q8_0));
    }
    store_panels(y, ldy, acc, r1 - r0, n, panels);
}

MICRO_BY_TILES(sl_micro_s8_avx2, micro_tile)

static DECODE_WITH(decode_Q8_0, decode, false)
static DECODE_WITH(decode_Q8_0_R8, decode, true)
static NARROW_BY_ROWS(narrow_Q8_0, narrow_tile, false, 1)
NARROW_BY_PANELS(narrow_Q8_0_R8, narrow_tile, true)

void sl_linear_init_avx2_s8(sl_kernels *k)
{
    k->panel[SL_FORMAT_Q8_0][SL_ACT_Q8] = s8_panel(decode_Q8_0, narrow_Q8_0);
    k->panel[SL_FORMAT_Q8_0][SL_ACT_Q8].streams = SL_PANEL_ROWS;
    k->panel[SL_FORMAT_Q8_0_R8][SL_ACT_Q8] = s8_panel(decode_Q8_0_R8, narrow_Q8_0_R8);
    k->panel[SL_FORMAT_Q8_0_R8][SL_ACT_Q8].streams = SIDE_PANELS;
}
