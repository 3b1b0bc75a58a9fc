/* linear_f32.c - panel type f32: F32, F16 and BF16 weights, and all formats with f32 activations.
 *
 * A panel is [k / 8][8 rows][8]: the lanes of a vector are columns, so that stored rows of
 * floats serve `narrow` as they lie. The last vector of a row is filled up with zeros.
 *
 * An element's sum (this is the panel type's definition): lane l adds the products of
 * k = l, l + 8, l + 16 ... in that order, each by fma, from 0; in the last step, lanes past K
 * add 0 * 0; then ((l0 + l4) + (l1 + l5)) + ((l2 + l6) + (l3 + l7)).
 * The 8 lanes do not fit y, hence k_block 0: micro takes all columns and keeps the lanes of
 * 12 tokens x 8 rows on its stack while it goes over chunks of columns that stay in L1. */
#include "kernels/avx2/linear_in.h"

#include <assert.h>

#define CHUNK      512 /* columns: 16 KiB of panel, 24 KiB of activations */
#define TOKENS     12
#define NARROW_MAX 24 /* beyond, activations leave L2 */

/* ((l0 + l4) + (l1 + l5)) + ((l2 + l6) + (l3 + l7)) of 4 rows. */
SL_ALWAYS_INLINE __m128 reduce4(const __m256 a[4])
{
    __m128 s[4];
    UNROLL
    for (size_t i = 0; i < 4; i++)
        s[i] = _mm_add_ps(_mm256_castps256_ps128(a[i]), _mm256_extractf128_ps(a[i], 1));
    return _mm_hadd_ps(_mm_hadd_ps(s[0], s[1]), _mm_hadd_ps(s[2], s[3]));
}

SL_ALWAYS_INLINE __m256 reduce8(const __m256 a[8])
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(reduce4(a)), reduce4(a + 4), 1);
}

/* ---- micro --------------------------------------------------------------------- */

/* n tokens x 4 rows over `steps` x 8 columns; w: 4 rows of the panel, n is a constant. */
SL_ALWAYS_INLINE void tile(__m256 *lanes, const float *w, const float *x, size_t ldx, size_t steps, size_t n)
{
    __m256 acc[3][4];
    UNROLL
    for (size_t j = 0; j < n; j++)
        UNROLL
    for (size_t i = 0; i < 4; i++)
        acc[j][i] = lanes[j * SL_PANEL_ROWS + i];
    for (size_t s = 0; s < steps; s++, w += 8 * SL_PANEL_ROWS, x += 8) {
        __m256 a[3];
        UNROLL
        for (size_t j = 0; j < n; j++)
            a[j] = _mm256_loadu_ps(x + j * ldx);
        UNROLL
        for (size_t i = 0; i < 4; i++) {
            const __m256 b = _mm256_loadu_ps(w + 8 * i);
            UNROLL
            for (size_t j = 0; j < n; j++)
                acc[j][i] = _mm256_fmadd_ps(b, a[j], acc[j][i]);
        }
    }
    UNROLL
    for (size_t j = 0; j < n; j++)
        UNROLL
    for (size_t i = 0; i < 4; i++)
        lanes[j * SL_PANEL_ROWS + i] = acc[j][i];
}

/* All whole steps of one chunk: 8 rows x n <= TOKENS tokens. */
static void chunk(__m256 *lanes, const float *w, const float *x, size_t ldx, size_t steps, size_t n)
{
    for (size_t half = 0; half < SL_PANEL_ROWS; half += 4) {
        __m256 *l = lanes + half;
        const float *b = w + 8 * half, *a = x;
        size_t j = 0;
        for (; j + 3 <= n; j += 3, l += 3 * SL_PANEL_ROWS, a += 3 * ldx)
            tile(l, b, a, ldx, steps, 3);
        if (n - j == 2)
            tile(l, b, a, ldx, steps, 2);
        else if (n - j == 1)
            tile(l, b, a, ldx, steps, 1);
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
        store_rows(y + j * ldy, reduce8(lanes + j * SL_PANEL_ROWS), rows);
}

static void micro_f32(float *y, size_t ldy, const void *panel, size_t rows, size_t k0, size_t k1, const sl_act *x,
                      size_t t0, size_t t1, bool first)
{
    assert(first && k0 == 0 && k1 == x->K);
    (void)first, (void)k0, (void)k1;
    for (size_t t = t0; t < t1; t += TOKENS)
        micro_block(y + (t - t0) * ldy, ldy, panel, rows, x, t, SL_MIN(TOKENS, t1 - t));
}

/* ---- stored floats ------------------------------------------------------------- */

/* A constant wherever it is used: these functions are inlined once for each type. */
typedef enum stored { STORED_F32, STORED_F16, STORED_BF16 } stored;

SL_ALWAYS_INLINE size_t stored_bytes(stored type)
{
    return type == STORED_F32 ? 4 : 2;
}

SL_ALWAYS_INLINE __m256 load_stored(const uint8_t *p, stored type)
{
    if (type == STORED_F32)
        return _mm256_loadu_ps((const float *)(const void *)p);
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    if (type == STORED_F16)
        return _mm256_cvtph_ps(v);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

/* The last n < 8 numbers of a row, then zeros. The row may end where its memory ends. */
SL_ALWAYS_INLINE __m256 load_stored_tail(const uint8_t *p, size_t n, stored type)
{
    uint8_t b[32] = { 0 };
    memcpy(b, p, n * stored_bytes(type));
    return load_stored(b, type);
}

SL_ALWAYS_INLINE void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, stored type)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    const size_t whole = k0 + (k1 - k0) / 8 * 8;
    float *out = dst;
    for (size_t k = k0; k < whole; k += 8)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++, out += 8)
            _mm256_storeu_ps(out, load_stored(row[i] + k * stored_bytes(type), type));
    if (whole < k1)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++, out += 8)
            _mm256_storeu_ps(out, load_stored_tail(row[i] + whole * stored_bytes(type), k1 - whole, type));
}

/* n tokens x n_rows stored rows, all columns, to acc[token][row]; n and n_rows are constants.
 * `fetch` asks for the next n_rows rows on the way. */
SL_ALWAYS_INLINE void narrow_tile(__m256 *acc, const uint8_t *const *row, size_t row_bytes, const sl_act *x, size_t t,
                                  bool fetch, size_t n, size_t n_rows, stored type)
{
    const float *a = x->f32 + t * x->ldf;
    const size_t size = stored_bytes(type), whole = x->K / 8 * 8;
    const uint8_t *ahead = row[0] + n_rows * row_bytes;
    UNROLL
    for (size_t i = 0; i < n_rows * n; i++)
        acc[i] = _mm256_setzero_ps();
    for (size_t k = 0; k < whole; k += 8) {
        UNROLL
        for (size_t i = 0; i < n_rows; i++) {
            const __m256 b = load_stored(row[i] + k * size, type);
            UNROLL
            for (size_t j = 0; j < n; j++)
                acc[j * n_rows + i] = _mm256_fmadd_ps(b, _mm256_loadu_ps(a + j * x->ldf + k), acc[j * n_rows + i]);
        }
        if (fetch)
            fetch_bytes(ahead + k * n_rows * size, n_rows * 8 * size);
    }
    if (x->K > whole)
        for (size_t i = 0; i < n_rows; i++) {
            const __m256 b = load_stored_tail(row[i] + whole * size, x->K - whole, type);
            for (size_t j = 0; j < n; j++) {
                const __m256 v = _mm256_maskload_ps(a + j * x->ldf + whole, lanes8(x->K - whole));
                acc[j * n_rows + i] = _mm256_fmadd_ps(b, v, acc[j * n_rows + i]);
            }
        }
}

SL_ALWAYS_INLINE void narrow_one(float *y, const uint8_t *const *row, size_t rows, size_t row_bytes, const sl_act *x,
                                 size_t t, stored type)
{
    __m256 acc[SL_PANEL_ROWS];
    narrow_tile(acc, row, row_bytes, x, t, true, 1, 8, type);
    store_rows(y, reduce8(acc), rows);
}

/* 4 rows stay in L1 or L2 while two or three tokens at a time pass over them. */
SL_ALWAYS_INLINE void narrow_some(float *y, size_t ldy, const uint8_t *const *row, size_t rows, size_t row_bytes,
                                  const sl_act *x, size_t t0, size_t t1, stored type)
{
    const __m128i mask = lanes4(rows);
    for (size_t t = t0, n; t < t1; t += n) {
        __m256 acc[3 * 4];
        n = t1 - t == 2 || t1 - t == 4 ? 2 : 3;
        if (n == 2)
            narrow_tile(acc, row, row_bytes, x, t, t == t0, 2, 4, type);
        else
            narrow_tile(acc, row, row_bytes, x, t, t == t0, 3, 4, type);
        for (size_t j = 0; j < n; j++)
            _mm_maskstore_ps(y + (t - t0 + j) * ldy, mask, reduce4(acc + 4 * j));
    }
}

SL_ALWAYS_INLINE void narrow(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x, size_t t0,
                             size_t t1, stored type)
{
    for (size_t r = r0; r < r1; r += SL_PANEL_ROWS, y += SL_PANEL_ROWS) {
        const size_t rows = SL_MIN(SL_PANEL_ROWS, r1 - r);
        const uint8_t *row[SL_PANEL_ROWS];
        row_pointers(row, w, r, r1);
        if (t1 - t0 == 1) {
            narrow_one(y, row, rows, w->row_bytes, x, t0, type);
            continue;
        }
        narrow_some(y, ldy, row, SL_MIN(rows, 4), w->row_bytes, x, t0, t1, type);
        if (rows > 4)
            narrow_some(y + 4, ldy, row + 4, rows - 4, w->row_bytes, x, t0, t1, type);
    }
}

static void decode_f32(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    decode(dst, w, r0, r1, k0, k1, STORED_F32);
}

static void narrow_f32(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x, size_t t0,
                       size_t t1)
{
    narrow(y, ldy, w, r0, r1, x, t0, t1, STORED_F32);
}

static void decode_f16(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    decode(dst, w, r0, r1, k0, k1, STORED_F16);
}

static void narrow_f16(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x, size_t t0,
                       size_t t1)
{
    narrow(y, ldy, w, r0, r1, x, t0, t1, STORED_F16);
}

static void decode_bf16(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    decode(dst, w, r0, r1, k0, k1, STORED_BF16);
}

static void narrow_bf16(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x, size_t t0,
                        size_t t1)
{
    narrow(y, ldy, w, r0, r1, x, t0, t1, STORED_BF16);
}

/* ---- the table ----------------------------------------------------------------- */

static sl_panel panel(sl_panel_decode_fn *dec, sl_panel_narrow_fn *nar)
{
    return (sl_panel){ .name = "f32 x8",
                       .needs = SL_NEED_F32,
                       .narrow_needs = nar ? SL_NEED_F32 : 0,
                       .group_bytes = SL_GROUP * SL_PANEL_ROWS * sizeof(float),
                       .k_block = 0,
                       .decode = dec,
                       .micro = micro_f32,
                       .narrow = nar,
                       .narrow_max = nar ? NARROW_MAX : 0 };
}

void sl_linear_init_avx2_f32(sl_kernels *k)
{
    for (size_t act = 0; act < SL_ACT_COUNT; act++) {
        k->panel[SL_FORMAT_F32][act] = panel(decode_f32, narrow_f32);
        k->panel[SL_FORMAT_F16][act] = panel(decode_f16, narrow_f16);
        k->panel[SL_FORMAT_BF16][act] = panel(decode_bf16, narrow_bf16);
    }
    k->panel[SL_FORMAT_Q8_0][SL_ACT_F32] = panel(sl_decode_f32_avx2_q8_0, NULL);
    k->panel[SL_FORMAT_Q4_0][SL_ACT_F32] = panel(sl_decode_f32_avx2_q4_0, NULL);
    k->panel[SL_FORMAT_Q4_1][SL_ACT_F32] = panel(sl_decode_f32_avx2_q4_1, NULL);
}
