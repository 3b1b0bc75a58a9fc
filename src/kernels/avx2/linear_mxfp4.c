/* linear_mxfp4.c - MXFP4_SPLIT: panel type s8, and f32 for f32 activations. As MXFP4 in linear_lut.c, but neighbours
 * share a byte and the scales lie apart. What the bits mean is in quant/fp4.c. */
#include "kernels/avx2/linear_s8_in.h"

#define GROUP_BYTES (SL_GROUP / 2)

/* Rows r0 .. r0+8 of the numbers and of their scales. */
typedef struct split_rows {
    const uint8_t *q[SL_PANEL_ROWS], *scale[SL_PANEL_ROWS];
} split_rows;

SL_ALWAYS_INLINE void split_pointers(split_rows *row, const sl_tensor *w, size_t r0, size_t r1)
{
    const sl_scales *s = &w->scales;
    row_pointers(row->q, w, r0, r1);
    for (size_t i = 0; i < SL_PANEL_ROWS; i++)
        row->scale[i] = (const uint8_t *)s->scale + sl_scales_row(s, SL_MIN(r0 + i, r1 - 1)) * s->row_bytes;
}

/* Each byte of x as two, its low and its high nibble, bytes 0 and 1 of every four of x. */
SL_ALWAYS_INLINE __m256i two_of_four(__m256i x, __m256i pick)
{
    const __m256i twice = _mm256_shuffle_epi8(x, pick);
    const __m256i low = _mm256_and_si256(twice, _mm256_set1_epi16(0x000f));
    return _mm256_or_si256(low, _mm256_and_si256(_mm256_srli_epi16(twice, 4), _mm256_set1_epi16(0x0f00)));
}

/* Signed bytes of group g: q[i] has for each row the weights 4i .. 4i+3. */
SL_ALWAYS_INLINE void load_group(__m256i q[8], const split_rows *row, size_t g)
{
    const __m256i table = table_of(SL_FORMAT_MXFP4);
    const __m256i front =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 1, 1, 4, 4, 5, 5, 8, 8, 9, 9, 12, 12, 13, 13));
    const __m256i back = _mm256_add_epi8(front, _mm256_set1_epi8(2));
    __m256i v[4];
    transpose_dwords(v, row->q, g * GROUP_BYTES);
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        q[2 * i] = _mm256_shuffle_epi8(table, two_of_four(v[i], front));
        q[2 * i + 1] = _mm256_shuffle_epi8(table, two_of_four(v[i], back));
    }
}

/* ---- 8-bit activations ------------------------------------------------------------ */

static void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    split_rows row;
    split_pointers(&row, w, r0, r1);
    s8_group *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out++) {
        __m256i q[8];
        load_group(q, &row, g);
        UNROLL
        for (size_t i = 0; i < 8; i++)
            store_i(out->q[i], q[i]);
        _mm256_storeu_ps(out->d, powers(row.scale, g));
    }
}

/* n tokens x 8 rows, asking for later ones on the way, row by row: others may lie between. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                  const sl_act *x, size_t t, size_t n)
{
    enum { LINE_GROUPS = 64 / GROUP_BYTES };
    split_rows row;
    split_pointers(&row, w, r0, r1);
    const onward ahead = onward_from(row.q[0], sl_round_up(SL_BYTES_AHEAD, SL_PANEL_ROWS * w->row_bytes), w, r1, next);
    __m256 acc[LINEAR_TILE];
    zero_tile(acc, n);
    for (size_t g = 0; g < x->G; g++) {
        __m256i q[8];
        for (size_t i = 0; i < SL_PANEL_ROWS && g % LINE_GROUPS == 0; i++)
            fetch_onward(&ahead, i * w->row_bytes + g * GROUP_BYTES, 1);
        load_group(q, &row, g);
        add_bytes(acc, q, powers(row.scale, g), act_group(x, t, g), n);
    }
    store_tile(y, ldy, acc, SL_MIN(SL_PANEL_ROWS, r1 - r0), n);
}

static NARROW_BY_ROWS(narrow, narrow_tile)

/* ---- f32 activations --------------------------------------------------------------- */

/* The 32 weights of a group of one row, in order. */
SL_ALWAYS_INLINE __m256i row_group(const uint8_t *p)
{
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p), four = _mm_set1_epi8(15);
    const __m128i low = _mm_and_si128(v, four), high = _mm_and_si128(_mm_srli_epi16(v, 4), four);
    const __m256i q = _mm256_set_m128i(_mm_unpackhi_epi8(low, high), _mm_unpacklo_epi8(low, high));
    return _mm256_shuffle_epi8(table_of(SL_FORMAT_MXFP4), q);
}

static void decode_f32(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    split_rows row;
    split_pointers(&row, w, r0, r1);
    float *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out += SL_GROUP * SL_PANEL_ROWS) {
        float d[SL_PANEL_ROWS];
        _mm256_storeu_ps(d, powers(row.scale, g));
        for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
            int8_t q[SL_GROUP];
            store_i(q, row_group(row.q[i] + g * GROUP_BYTES));
            UNROLL
            for (size_t c = 0; c < SL_GROUP / 8; c++) {
                const __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)(q + 8 * c));
                const __m256 v = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight));
                _mm256_storeu_ps(out + (c * SL_PANEL_ROWS + i) * 8, _mm256_mul_ps(v, _mm256_set1_ps(d[i])));
            }
        }
    }
}

void sl_linear_init_avx2_mxfp4(sl_kernels *k)
{
    k->panel[SL_FORMAT_MXFP4_SPLIT][SL_ACT_F32].decode = decode_f32;
    k->panel[SL_FORMAT_MXFP4_SPLIT][SL_ACT_Q8] = s8_panel(decode, narrow);
}
