/* rows_f8.c - panel type f32: rows of F8_E4M3 with scales beside them. What the bits mean is in quant/fp8.c; what is
 * added up, and in which order, in linear_f32.c.
 *
 * A byte shifted into a half float is 2^-8 of its value, the subnormal ones too, so that no table is needed; 2^8 is
 * taken into the scale. That is exact for scales below 2^120. A code that is no number counts as 480 here. */
#include "kernels/avx2/linear_in.h"

#define ROWS       4 /* that narrow takes at once */
#define NARROW_MAX 3

/* 8 numbers, times 2^-8. */
SL_ALWAYS_INLINE __m256 load_eight(const uint8_t *p)
{
    const __m128i v = _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p));
    /* sign in bits 15 .. 7, exponent and mantissa below it: as a half, the sign must not stand twice */
    return _mm256_cvtph_ps(_mm_and_si128(_mm_slli_epi16(v, 7), _mm_set1_epi16((short)0xbfff)));
}

/* The last n <= 8 of a row, then zeros. The row may end where its memory ends. */
SL_ALWAYS_INLINE __m256 load_last(const uint8_t *p, size_t n)
{
    uint8_t b[8] = { 0 };
    memcpy(b, p, n);
    return load_eight(b);
}

/* 16 numbers, times 2^-8. */
SL_ALWAYS_INLINE void load_sixteen(__m256 v[2], const uint8_t *p)
{
    __m256i h = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
    h = _mm256_and_si256(_mm256_slli_epi16(h, 7), _mm256_set1_epi16((short)0xbfff));
    v[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(h));
    v[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1));
}

/* The way through the scales of some rows, from one group of columns to the next. */
typedef struct scale_walk {
    const uint8_t *at[SL_PANEL_ROWS];
    size_t step;
    sl_scale_type type;
} scale_walk;

/* Of n rows from r0 on, at or past r1 the last one; from the group of column k on. */
SL_ALWAYS_INLINE scale_walk walk_from(const sl_tensor *w, size_t r0, size_t r1, size_t k, size_t n)
{
    const sl_scales *s = &w->scales;
    scale_walk walk = { .step = s->col_bytes, .type = s->type };
    for (size_t i = 0; i < n; i++)
        walk.at[i] = (const uint8_t *)s->scale + sl_scales_row(s, SL_MIN(r0 + i, r1 - 1)) / s->rows * s->row_bytes +
                     k / s->group * s->col_bytes;
    return walk;
}

/* A group's scales, times 2^8. */
SL_ALWAYS_INLINE void next_scales(__m256 *d, scale_walk *walk, size_t n)
{
    UNROLL
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = walk->at[i];
        const float v = walk->type == SL_SCALE_F32   ? sl_f32_from_bits(sl_load_le32(p))
                        : walk->type == SL_SCALE_F16 ? sl_f32_from_f16(sl_load_le16(p))
                                                     : sl_f32_from_bf16(sl_load_le16(p));
        d[i] = _mm256_set1_ps(v * 0x1p8f);
        walk->at[i] += walk->step;
    }
}

static void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    scale_walk walk = walk_from(w, r0, r1, k0, SL_PANEL_ROWS);
    size_t left = w->scales.group - k0 % w->scales.group; /* columns of the group */
    float *out = dst;
    for (size_t k = k0, end; k < k1; k = end, left = w->scales.group) {
        __m256 d[SL_PANEL_ROWS];
        end = left < k1 - k ? k + left : k1;
        next_scales(d, &walk, SL_PANEL_ROWS);
        for (size_t c = k; c < end; c += 8)
            for (size_t i = 0; i < SL_PANEL_ROWS; i++, out += 8) {
                const __m256 v = end - c < 8 ? load_last(row[i] + c, end - c) : load_eight(row[i] + c);
                _mm256_storeu_ps(out, _mm256_mul_ps(v, d[i]));
            }
    }
}

/* acc[j][i] += the 8 weights of row i times those of token j from column k on.
 * n is a constant. */
SL_ALWAYS_INLINE void add_products(__m256 *acc, size_t i, __m256 weights, const float *a, size_t lda, size_t n)
{
    UNROLL
    for (size_t j = 0; j < n; j++)
        acc[j * ROWS + i] = _mm256_fmadd_ps(weights, _mm256_loadu_ps(a + j * lda), acc[j * ROWS + i]);
}

/* n tokens x 4 rows, asking for later ones on the way. n is a constant. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                  const sl_act *x, size_t t, size_t n)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    const onward ahead = onward_from(row[0], sl_linear_ahead(w, ROWS), w, r1, next);
    scale_walk walk = walk_from(w, r0, r1, 0, ROWS);
    const float *a = x->f32 + t * x->ldf;
    const size_t whole = x->K / 8 * 8, group = w->scales.group;
    __m256 acc[3 * ROWS], d[ROWS] = { 0 };
    UNROLL
    for (size_t i = 0; i < n * ROWS; i++)
        acc[i] = _mm256_setzero_ps();
    size_t end = 0;
    for (size_t k = 0; k < whole; k = end) {
        end = group < whole - k ? k + group : whole;
        next_scales(d, &walk, ROWS);
        size_t c = k;
        for (; end - c >= SL_GROUP; c += SL_GROUP) {
            fetch_onward(&ahead, ROWS * c, ROWS * SL_GROUP);
            UNROLL
            for (size_t h = 0; h < SL_GROUP; h += 16)
                UNROLL
            for (size_t i = 0; i < ROWS; i++) {
                __m256 b[2];
                load_sixteen(b, row[i] + c + h);
                add_products(acc, i, _mm256_mul_ps(b[0], d[i]), a + c + h, x->ldf, n);
                add_products(acc, i, _mm256_mul_ps(b[1], d[i]), a + c + h + 8, x->ldf, n);
            }
        }
        for (; c < end; c += 8)
            UNROLL
        for (size_t i = 0; i < ROWS; i++)
            add_products(acc, i, _mm256_mul_ps(load_eight(row[i] + c), d[i]), a + c, x->ldf, n);
    }
    const size_t left = x->K - whole;
    if (left && whole % group == 0)
        next_scales(d, &walk, ROWS);
    for (size_t i = 0; left && i < ROWS; i++) {
        const __m256 b = _mm256_mul_ps(load_last(row[i] + whole, left), d[i]);
        for (size_t j = 0; j < n; j++)
            acc[j * ROWS + i] =
                _mm256_fmadd_ps(b, _mm256_maskload_ps(a + j * x->ldf + whole, lanes8(left)), acc[j * ROWS + i]);
    }
    UNROLL
    for (size_t j = 0; j < n; j++)
        _mm_maskstore_ps(y + j * ldy, lanes4(SL_MIN(ROWS, r1 - r0)), reduce4(acc + j * ROWS));
}

static void narrow(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next, const sl_act *x,
                   size_t t0, size_t t1)
{
    for (size_t r = r0; r < r1; r += ROWS, y += ROWS)
        switch (t1 - t0) {
        case 1:
            narrow_tile(y, ldy, w, r, r1, next, x, t0, 1);
            break;
        case 2:
            narrow_tile(y, ldy, w, r, r1, next, x, t0, 2);
            break;
        default:
            narrow_tile(y, ldy, w, r, r1, next, x, t0, NARROW_MAX);
            break;
        }
}

void sl_linear_init_avx2_f8(sl_kernels *k)
{
    static const sl_format formats[] = { SL_FORMAT_F8_E4M3, SL_FORMAT_F8_E4M3_128, SL_FORMAT_F8_E4M3_UE8M0,
                                         SL_FORMAT_F8_E4M3_TOKEN };
    for (size_t f = 0; f < SL_COUNT(formats); f++)
        for (size_t act = 0; act < SL_ACT_COUNT; act++) {
            sl_panel *p = &k->panel[formats[f]][act];
            p->decode = decode;
            p->narrow = narrow;
            p->needs = p->narrow_needs = act == SL_ACT_Q8 ? sl_need_rounded(formats[f]) : SL_NEED_F32;
            p->narrow_max = NARROW_MAX;
        }
}
