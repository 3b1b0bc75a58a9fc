/* linear_f32.c - panel type f32: F32, F16 and BF16 weights, and all formats with f32 activations.
 *
 * A panel is [k / 8][8 rows][8]: the lanes of a vector are columns, so that stored rows serve
 * `narrow` as they lie (rows_f32.c). The last vector of a row is filled up with zeros.
 *
 * An element's sum (this is the panel type's definition): lane l adds the products of
 * k = l, l + 8, l + 16 ... in that order, each by fma, from 0; in the last step, lanes past K
 * add 0 * 0; then ((l0 + l4) + (l1 + l5)) + ((l2 + l6) + (l3 + l7)).
 * The 8 lanes do not fit y, hence k_block 0: micro takes all columns and keeps the lanes of
 * 24 tokens x 8 rows on its stack while it goes over chunks of columns that stay in L1. */
#include "kernels/avx2/linear_in.h"

#include <assert.h>

#define CHUNK  512 /* columns: 16 KiB of panel, 6 KiB of activations for three tokens */
#define TOKENS 24
#define HALF   4 /* rows of a tile */

/* n tokens x 4 rows over `steps` x 8 columns; w: 4 rows of the panel, n is a constant. */
SL_ALWAYS_INLINE void tile(__m256 *lanes, const float *w, const float *x, size_t ldx, size_t steps, size_t n)
{
    __m256 acc[3][HALF];
    UNROLL
    for (size_t j = 0; j < n; j++)
        UNROLL
    for (size_t i = 0; i < HALF; i++)
        acc[j][i] = lanes[j * SL_PANEL_ROWS + i];
    for (size_t s = 0; s < steps; s++, w += 8 * SL_PANEL_ROWS, x += 8) {
        __m256 a[3];
        UNROLL
        for (size_t j = 0; j < n; j++)
            a[j] = _mm256_loadu_ps(x + j * ldx);
        UNROLL
        for (size_t i = 0; i < HALF; i++) {
            const __m256 b = _mm256_loadu_ps(w + 8 * i);
            UNROLL
            for (size_t j = 0; j < n; j++)
                acc[j][i] = _mm256_fmadd_ps(b, a[j], acc[j][i]);
        }
    }
    UNROLL
    for (size_t j = 0; j < n; j++)
        UNROLL
    for (size_t i = 0; i < HALF; i++)
        lanes[j * SL_PANEL_ROWS + i] = acc[j][i];
}

/* All whole steps of one chunk: 8 rows, which stay in L1, x n <= TOKENS tokens, three of which do while both halves of
 * the rows meet them. */
static void chunk(__m256 *lanes, const float *w, const float *x, size_t ldx, size_t steps, size_t n)
{
    size_t j = 0;
    for (; j + 3 <= n; j += 3, lanes += 3 * SL_PANEL_ROWS, x += 3 * ldx) {
        tile(lanes, w, x, ldx, steps, 3);
        tile(lanes + HALF, w + 8 * HALF, x, ldx, steps, 3);
    }
    for (size_t half = 0; half < SL_PANEL_ROWS; half += HALF) {
        if (n - j == 2)
            tile(lanes + half, w + 8 * half, x, ldx, steps, 2);
        else if (n - j == 1)
            tile(lanes + half, w + 8 * half, x, ldx, steps, 1);
    }
}

static void micro_block(float *y, size_t ldy, const float *panel, size_t rows, const sl_act *x, size_t t, size_t n)
{
    __m256 lanes[TOKENS * SL_PANEL_ROWS];
    for (size_t i = 0; i < n * SL_PANEL_ROWS; i++)
        lanes[i] = _mm256_setzero_ps();
    const float *a = x->f32 + t * x->ldf;
    const size_t whole = x->K / 8 * 8;
    for (size_t k = 0; k < whole; k += CHUNK)
        chunk(lanes, panel + k * SL_PANEL_ROWS, a + k, x->ldf, SL_MIN(CHUNK, whole - k) / 8, n);
    if (x->K > whole)
        for (size_t j = 0; j < n; j++) {
            const __m256 tail = _mm256_maskload_ps(a + j * x->ldf + whole, lanes8(x->K - whole));
            for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
                __m256 *l = &lanes[j * SL_PANEL_ROWS + i];
                *l = _mm256_fmadd_ps(_mm256_loadu_ps(panel + whole * SL_PANEL_ROWS + 8 * i), tail, *l);
            }
        }
    for (size_t j = 0; j < n; j++)
        store_some(y + j * ldy, reduce8(lanes + j * SL_PANEL_ROWS), rows);
}

void sl_micro_f32_avx2(float *y, size_t ldy, const void *panels, size_t stride, size_t rows, size_t k0, size_t k1,
                       const sl_act *x, size_t t0, size_t t1, bool first)
{
    const char *panel = panels;
    assert(first && k0 == 0 && k1 == x->K);
    (void)first, (void)k0, (void)k1;
    for (size_t r = 0; r < rows; r += SL_PANEL_ROWS, panel += stride)
        for (size_t t = t0; t < t1; t += TOKENS)
            micro_block(y + (t - t0) * ldy + r, ldy, (const float *)(const void *)panel,
                        SL_MIN(SL_PANEL_ROWS, rows - r), x, t, SL_MIN(TOKENS, t1 - t));
}
