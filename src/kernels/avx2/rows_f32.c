/* rows_f32.c - panel type f32: stored rows of every format as f32, for decode and narrow.
 *
 * A group of 32 columns of a row is 4 vectors. The values are those of the reference in quant/:
 * a product rounds before its minimum is added. What narrow adds up, and in which order, is
 * in linear_f32.c. */
#include "kernels/avx2/rows_in.h"

#include "quant/quant.h"

/* Tokens up to which reading the rows again beats a panel: blocks cost more to decode. */
#define NARROW_MAX_FLOATS 16
#define NARROW_MAX_BLOCKS 3

#define GROUP_STEPS (SL_GROUP / 8)

/* Rows that narrow takes at once: few, since rows of floats are long, and what lies between a row and the next is asked
 * for before its use. */
#define ROWS 4

/* Where a function takes a format, it is a constant: it is inlined once for each. */

/* ---- one row ------------------------------------------------------------------- */

SL_ALWAYS_INLINE bool is_float(sl_format f)
{
    return f == SL_FORMAT_F32 || f == SL_FORMAT_F16 || f == SL_FORMAT_BF16;
}

/* 8 numbers of F32, F16 or BF16. */
SL_ALWAYS_INLINE __m256 load_floats(const uint8_t *p, sl_format f)
{
    if (f == SL_FORMAT_F32)
        return _mm256_loadu_ps((const float *)(const void *)p);
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    if (f == SL_FORMAT_F16)
        return _mm256_cvtph_ps(v);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

/* The last n <= 8 numbers of a row, then zeros. The row may end where its memory ends. */
SL_ALWAYS_INLINE __m256 load_floats_tail(const uint8_t *p, size_t n, sl_format f)
{
    uint8_t b[8 * sizeof(float)] = { 0 };
    memcpy(b, p, n * (group_bytes(f) / SL_GROUP));
    return load_floats(b, f);
}

/* Group g of a row, in 4 vectors. */
SL_ALWAYS_INLINE void load_group(__m256 b[GROUP_STEPS], const uint8_t *row, size_t g, sl_format f)
{
    if (is_float(f)) {
        UNROLL
        for (size_t c = 0; c < GROUP_STEPS; c++)
            b[c] = load_floats(row + g * group_bytes(f) + c * (group_bytes(f) / GROUP_STEPS), f);
        return;
    }
    const whole w = load_whole(row, g, f);
    UNROLL
    for (size_t c = 0; c < GROUP_STEPS; c++) {
        const __m128i half = c / 2 ? _mm256_extracti128_si256(w.q, 1) : _mm256_castsi256_si128(w.q);
        const __m128i eight = c % 2 ? _mm_unpackhi_epi64(half, half) : half;
        b[c] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight));
        if (f == SL_FORMAT_Q6_K)
            b[c] = _mm256_mul_ps(b[c], w.s[c / 2]);
        b[c] = _mm256_mul_ps(b[c], w.d);
        if (has_minima(f))
            b[c] = _mm256_add_ps(b[c], w.m);
    }
}

/* ---- decode -------------------------------------------------------------------- */

SL_ALWAYS_INLINE void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, sl_format f)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    float *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out += SL_GROUP * SL_PANEL_ROWS)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
            __m256 b[GROUP_STEPS];
            load_group(b, row[i], g, f);
            UNROLL
            for (size_t c = 0; c < GROUP_STEPS; c++)
                _mm256_storeu_ps(out + (c * SL_PANEL_ROWS + i) * 8, b[c]);
        }
    /* only floats: blocks have no such rest */
    for (size_t k = k1 / SL_GROUP * SL_GROUP; k < k1; k += 8)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++, out += 8)
            _mm256_storeu_ps(out, load_floats_tail(row[i] + k * (group_bytes(f) / SL_GROUP), SL_MIN(8, k1 - k), f));
}

/* Any format, by its reference; the last vector of a row is filled up with zeros. */
void sl_decode_any_avx2(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const sl_quant *quant = sl_quant_get(w->format);
    const size_t step = SL_MAX(quant->block, (size_t)SL_GROUP);
    float *out = dst;
    for (size_t k = k0; k < k1; k += step, out += step * SL_PANEL_ROWS)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
            float values[SL_SUPER];
            const size_t n = SL_MIN(step, k1 - k), filled = sl_round_up(n, 8);
            memset(values + n, 0, (filled - n) * sizeof *values);
            quant->decode(values, w, SL_MIN(r0 + i, r1 - 1), k, k + n);
            for (size_t c = 0; c < filled; c += 8)
                _mm256_storeu_ps(out + c * SL_PANEL_ROWS + i * 8, _mm256_loadu_ps(values + c));
        }
}

/* ---- narrow -------------------------------------------------------------------- */

/* Group g of 4 rows times n tokens, whose columns of that group begin at a. Floats go step
 * by step, so that a token's 8 numbers are loaded once for all rows; blocks row by row, so that
 * their scale is. */
SL_ALWAYS_INLINE void add_group(__m256 *acc, const uint8_t *const *row, size_t g, const float *a, size_t lda, size_t n,
                                sl_format f)
{
    const size_t at = g * group_bytes(f), step = group_bytes(f) / GROUP_STEPS;
    if (is_float(f)) {
        UNROLL
        for (size_t c = 0; c < GROUP_STEPS; c++)
            UNROLL
        for (size_t i = 0; i < ROWS; i++) {
            const __m256 b = load_floats(row[i] + at + c * step, f);
            UNROLL
            for (size_t j = 0; j < n; j++)
                acc[j * ROWS + i] = _mm256_fmadd_ps(b, _mm256_loadu_ps(a + j * lda + 8 * c), acc[j * ROWS + i]);
        }
        return;
    }
    UNROLL
    for (size_t i = 0; i < ROWS; i++) {
        __m256 b[GROUP_STEPS];
        load_group(b, row[i], g, f);
        UNROLL
        for (size_t c = 0; c < GROUP_STEPS; c++)
            UNROLL
        for (size_t j = 0; j < n; j++)
            acc[j * ROWS + i] = _mm256_fmadd_ps(b[c], _mm256_loadu_ps(a + j * lda + 8 * c), acc[j * ROWS + i]);
    }
}

/* n tokens x 4 stored rows, all columns; n is a constant, 1..3. The first `rows` results are stored. Later rows are
 * asked for on the way, unless `ahead` is NULL. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, size_t rows, const uint8_t *const *row, const onward *ahead,
                                  const sl_act *x, size_t t, size_t n, sl_format f)
{
    const float *a = x->f32 + t * x->ldf;
    const size_t groups = x->K / SL_GROUP;
    __m256 acc[3 * ROWS];
    UNROLL
    for (size_t i = 0; i < ROWS * n; i++)
        acc[i] = _mm256_setzero_ps();
    for (size_t g = 0; g < groups; g++, a += SL_GROUP) {
        add_group(acc, row, g, a, x->ldf, n, f);
        if (ahead)
            fetch_onward(ahead, g * ROWS * group_bytes(f), ROWS * group_bytes(f));
    }
    for (size_t k = groups * SL_GROUP; k < x->K; k += 8, a += 8) {
        const size_t left = SL_MIN(8, x->K - k);
        UNROLL
        for (size_t i = 0; i < ROWS; i++) {
            const __m256 b = load_floats_tail(row[i] + k * (group_bytes(f) / SL_GROUP), left, f);
            UNROLL
            for (size_t j = 0; j < n; j++)
                acc[j * ROWS + i] =
                    _mm256_fmadd_ps(b, _mm256_maskload_ps(a + j * x->ldf, lanes8(left)), acc[j * ROWS + i]);
        }
    }
    UNROLL
    for (size_t j = 0; j < n; j++)
        _mm_maskstore_ps(y + j * ldy, lanes4(rows), reduce4(acc + j * ROWS));
}

/* 4 rows stay in L1 or L2 while two or three tokens at a time pass over them. */
SL_ALWAYS_INLINE void narrow_rows(float *y, size_t ldy, size_t rows, const uint8_t *const *row, const onward *ahead,
                                  const sl_act *x, size_t t0, size_t t1, sl_format f)
{
    size_t t = t0;
    for (; t1 - t == 3 || t1 - t > 4; t += 3, y += 3 * ldy)
        narrow_tile(y, ldy, rows, row, t == t0 ? ahead : NULL, x, t, 3, f);
    for (; t1 - t > 1; t += 2, y += 2 * ldy)
        narrow_tile(y, ldy, rows, row, t == t0 ? ahead : NULL, x, t, 2, f);
    if (t < t1)
        narrow_tile(y, ldy, rows, row, t == t0 ? ahead : NULL, x, t, 1, f);
}

SL_ALWAYS_INLINE void narrow(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                             const sl_act *x, size_t t0, size_t t1, sl_format f)
{
    for (size_t r = r0; r < r1; r += ROWS, y += ROWS) {
        const uint8_t *row[SL_PANEL_ROWS];
        row_pointers(row, w, r, r1);
        const onward ahead = onward_from(row[0], sl_linear_ahead(w, ROWS), w, r1, next);
        narrow_rows(y, ldy, SL_MIN(ROWS, r1 - r), row, &ahead, x, t0, t1, f);
    }
}

/* ---- the table ----------------------------------------------------------------- */

#define DECODE(id) static DECODE_WITH(decode_##id, decode, SL_FORMAT_##id)
#define FORMAT(id)                                                                                                     \
    DECODE(id)                                                                                                         \
    static void narrow_##id(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,          \
                            const sl_act *x, size_t t0, size_t t1)                                                     \
    {                                                                                                                  \
        narrow(y, ldy, w, r0, r1, next, x, t0, t1, SL_FORMAT_##id);                                                    \
    }
FORMAT(F32)
FORMAT(F16)
FORMAT(BF16)
FORMAT(Q8_0)
FORMAT(Q4_0)
FORMAT(Q4_1)
FORMAT(Q5_0)
FORMAT(Q5_1)
FORMAT(Q6_K)
FORMAT(IQ4_NL)
FORMAT(IQ4_XS)
FORMAT(MXFP4)
/* Whose scales fill the registers: a panel is faster for one token too. */
DECODE(Q4_K)
DECODE(Q5_K)
#undef FORMAT
#undef DECODE

static sl_panel panel(sl_panel_decode_fn *decode_fn, sl_panel_narrow_fn *narrow_fn, size_t narrow_max)
{
    return (sl_panel){ .name = "f32 x8",
                       .needs = SL_NEED_F32,
                       .narrow_needs = narrow_fn ? SL_NEED_F32 : 0,
                       .group_bytes = SL_GROUP * SL_PANEL_ROWS * sizeof(float),
                       .k_block = 0,
                       .decode = decode_fn,
                       .micro = sl_micro_f32_avx2,
                       .narrow = narrow_fn,
                       .narrow_max = narrow_max };
}

void sl_linear_init_avx2_f32(sl_kernels *k)
{
    for (size_t act = 0; act < SL_ACT_COUNT; act++) {
        for (size_t f = 0; f < SL_FORMAT_COUNT; f++)
            k->panel[f][act] = panel(sl_decode_any_avx2, NULL, 0);
        k->panel[SL_FORMAT_F32][act] = panel(decode_F32, narrow_F32, NARROW_MAX_FLOATS);
        k->panel[SL_FORMAT_F16][act] = panel(decode_F16, narrow_F16, NARROW_MAX_FLOATS);
        k->panel[SL_FORMAT_BF16][act] = panel(decode_BF16, narrow_BF16, NARROW_MAX_FLOATS);
        k->panel[SL_FORMAT_F32][act].streams = k->panel[SL_FORMAT_F16][act].streams = ROWS;
        k->panel[SL_FORMAT_BF16][act].streams = ROWS;
    }
#define BLOCKS(id) k->panel[SL_FORMAT_##id][SL_ACT_F32] = panel(decode_##id, narrow_##id, NARROW_MAX_BLOCKS);
    BLOCKS(Q8_0)
    BLOCKS(Q4_0)
    BLOCKS(Q4_1)
    BLOCKS(Q5_0)
    BLOCKS(Q5_1)
    BLOCKS(Q6_K)
    BLOCKS(IQ4_NL)
    BLOCKS(IQ4_XS)
    BLOCKS(MXFP4)
#undef BLOCKS
    k->panel[SL_FORMAT_Q4_K][SL_ACT_F32] = panel(decode_Q4_K, NULL, 0);
    k->panel[SL_FORMAT_Q5_K][SL_ACT_F32] = panel(decode_Q5_K, NULL, 0);
}
