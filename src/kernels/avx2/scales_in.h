/* scales_in.h - scales that lie beside the numbers (sl_scales), of 8 rows at once, going along the columns. */
#ifndef SL_KERNELS_AVX2_SCALES_IN_H
#define SL_KERNELS_AVX2_SCALES_IN_H

#include <assert.h>
#include "kernels/avx2/linear_in.h"
#include "quant/scales.h"

#define SCALES_AHEAD 8 /* groups whose 16-bit scales are read together */

/* Where 8 rows are: their scales, from group to group. */
typedef struct scale_rows {
    const sl_scales *s;
    const uint8_t *row[SL_PANEL_ROWS]; /* the scale of group 0 */
    size_t stored;                     /* the first of them, as zero points count */
    bool one_word;                     /* their zero points are one word */
    size_t r0, r1;                     /* the rows, for those that are not */
    size_t next, g;                    /* column at which another group begins, and which */
    size_t n_groups;
    size_t ahead_from, ahead_to; /* groups that are in `ahead` */
    __m256 ahead[SCALES_AHEAD];
    __m256 d;  /* of the group at hand: scales */
    __m256i z; /* and zero points, each twice, as s16 */
} scale_rows;

SL_ALWAYS_INLINE scale_rows scale_rows_begin(const sl_tensor *w, size_t r0, size_t r1, size_t k)
{
    const sl_scales *s = &w->scales;
    scale_rows x = { .s = s, .stored = sl_scales_row(s, r0), .r0 = r0, .r1 = r1, .next = k };
    x.n_groups = s->col_bytes ? sl_div_up(w->cols, s->group) : 1;
    x.g = s->col_bytes ? k / s->group : 0;
    x.one_word = x.stored % 8 == 0 && s->skip == 0;
    for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
        const size_t row = sl_scales_row(s, SL_MIN(r0 + i, r1 - 1));
        x.row[i] = (const uint8_t *)s->scale + (s->rows == 1 ? row : row / s->rows) * s->row_bytes;
    }
    return x;
}

/* 8 words of one group, to floats. */
SL_ALWAYS_INLINE __m256 from_words(__m128i v, bool f16)
{
    return f16 ? _mm256_cvtph_ps(v) : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

SL_ALWAYS_INLINE __m256 load_scales(const scale_rows *x, size_t at)
{
    switch (x->s->type) {
    case SL_SCALE_F32:
        return _mm256_castsi256_ps(dwords(x->row, at));
    case SL_SCALE_F16:
        return halves(x->row, at);
    case SL_SCALE_BF16:
    case SL_SCALE_E8M0:
        break;
    }
    assert(x->s->type == SL_SCALE_BF16); /* powers of two go with other numbers */
    return from_words(words(x->row, at), false);
}

/* Words at `at` of 8 rows, 8 of each, turned: the rows of one group beside each other. */
SL_ALWAYS_INLINE void load_ahead(scale_rows *x, size_t at)
{
    __m128i a[8], b[8];
    const bool f16 = x->s->type == SL_SCALE_F16;
    UNROLL
    for (size_t i = 0; i < 8; i++)
        a[i] = _mm_loadu_si128((const __m128i *)(const void *)(x->row[i] + at));
    UNROLL
    for (size_t i = 0; i < 4; i++) { /* rows 0 and 4, 1 and 5, 2 and 6, 3 and 7 */
        b[2 * i] = _mm_unpacklo_epi16(a[i], a[i + 4]);
        b[2 * i + 1] = _mm_unpackhi_epi16(a[i], a[i + 4]);
    }
    UNROLL
    for (size_t i = 0; i < 2; i++) { /* rows 0, 2, 4, 6, then 1, 3, 5, 7; of the lower, then of the upper groups */
        a[4 * i] = _mm_unpacklo_epi16(b[i], b[i + 4]);
        a[4 * i + 1] = _mm_unpackhi_epi16(b[i], b[i + 4]);
        a[4 * i + 2] = _mm_unpacklo_epi16(b[i + 2], b[i + 6]);
        a[4 * i + 3] = _mm_unpackhi_epi16(b[i + 2], b[i + 6]);
    }
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        const size_t from = i / 2 * 4 + i % 2;
        x->ahead[2 * i] = from_words(_mm_unpacklo_epi16(a[from], a[from + 2]), f16);
        x->ahead[2 * i + 1] = from_words(_mm_unpackhi_epi16(a[from], a[from + 2]), f16);
    }
}

/* The scales of group g. */
SL_ALWAYS_INLINE __m256 next_scales(scale_rows *x, size_t g)
{
    const bool words = x->s->type == SL_SCALE_F16 || x->s->type == SL_SCALE_BF16;
    if (g >= x->ahead_to) {
        if (!words || x->s->col_bytes != sizeof(uint16_t) || x->n_groups - g < SCALES_AHEAD)
            return load_scales(x, g * x->s->col_bytes);
        load_ahead(x, g * sizeof(uint16_t));
        /* as much of those of the next 8 rows, which lie in one piece */
        const uint8_t *next = x->row[0] + SL_PANEL_ROWS * (x->s->row_bytes + g * sizeof(uint16_t));
        sl_cpu_prefetch_bytes(next, SL_PANEL_ROWS * SCALES_AHEAD * sizeof(uint16_t));
        x->ahead_from = g;
        x->ahead_to = g + SCALES_AHEAD;
    }
    return x->ahead[g - x->ahead_from];
}

/* Zero points of 4 bits. */
SL_ALWAYS_INLINE __m256i load_zeros(const scale_rows *x, size_t g)
{
    const sl_scales *s = x->s;
    if (x->one_word) {
        const uint8_t *p = (const uint8_t *)s->zero + x->stored / 8 * s->zero_row_bytes + g * s->zero_col_bytes;
        const __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        const __m256i z = _mm256_and_si256(_mm256_srlv_epi32(broadcast4(p), shift), _mm256_set1_epi32(15));
        return zeros_twice(_mm256_add_epi32(z, _mm256_set1_epi32((int)s->offset)));
    }
    int32_t z[SL_PANEL_ROWS];
    for (size_t i = 0; i < SL_PANEL_ROWS; i++)
        z[i] = sl_scales_zero(s, SL_MIN(x->r0 + i, x->r1 - 1), g, 4);
    return zeros_twice(load_i(z));
}

/* Make x->d (and x->z, with zero points) those of column k, a multiple of 32; to be called for k in order. */
SL_ALWAYS_INLINE void scale_rows_at(scale_rows *x, size_t k, bool zeros)
{
    if (k < x->next)
        return;
    const size_t g = x->g++;
    x->d = next_scales(x, g);
    if (zeros)
        x->z = load_zeros(x, g);
    x->next = x->g * x->s->group;
}

#endif
