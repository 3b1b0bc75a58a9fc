/* linear_in.h - what the AVX2 panel types share: 8 rows at once, and 8 results of a token.
 *
 * Element j of a vector belongs to row j of the panel, except where a comment says otherwise. */
#ifndef SL_KERNELS_AVX2_LINEAR_IN_H
#define SL_KERNELS_AVX2_LINEAR_IN_H

#include <string.h>
#include "base/num.h"
#include "kernels/avx2/stored_in.h"
#include "quant/blocks.h"

/* Each fills the slots of its panel type. */
void sl_linear_init_avx2_f32(sl_kernels *k); /* every format */
void sl_linear_init_avx2_s16(sl_kernels *k); /* every format that is groups of whole numbers */
void sl_linear_init_avx2_s8(sl_kernels *k);
void sl_linear_init_avx2_u(sl_kernels *k); /* the faster ones of those */
void sl_linear_init_avx2_k(sl_kernels *k);
void sl_linear_init_avx2_q6_k(sl_kernels *k);
void sl_linear_init_avx2_lut(sl_kernels *k);
void sl_linear_init_avx2_int4(sl_kernels *k);
void sl_linear_init_avx2_int8(sl_kernels *k);
void sl_linear_init_avx2_any(sl_kernels *k);
void sl_linear_init_avx2_scaled(sl_kernels *k); /* f32 of those two */
void sl_linear_init_avx2_mxfp4(sl_kernels *k);
void sl_linear_init_avx2_columns(sl_kernels *k);
void sl_linear_init_avx2_gptq(sl_kernels *k);
void sl_linear_init_avx2_f8(sl_kernels *k);

sl_panel_decode_fn sl_decode_any_avx2; /* rows_f32.c: f32, by the reference */
sl_panel_micro_fn sl_micro_f32_avx2;   /* linear_f32.c; what reads stored rows for it is in rows_f32.c */

/* The 16 bytes that nibbles of IQ4_NL, IQ4_XS or MXFP4 choose among, twice; the values of quant/iq4.c and quant/fp4.c.
 * f is a constant. */
SL_ALWAYS_INLINE __m256i table_of(sl_format f)
{
    const __m128i iq4 = _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
    const __m128i e2m1 = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
    return _mm256_broadcastsi128_si256(f == SL_FORMAT_MXFP4 ? e2m1 : iq4);
}

/* Zero points, at most 16, each twice as s16: for products with 16-bit numbers. */
SL_ALWAYS_INLINE __m256i zeros_twice(__m256i z)
{
    return _mm256_or_si256(z, _mm256_slli_epi32(z, 16));
}
SL_ALWAYS_INLINE __m256 zeros_as_floats(__m256i z)
{
    return _mm256_cvtepi32_ps(_mm256_srli_epi32(z, 16));
}

/* v[j] becomes what was lane j of each. */
SL_ALWAYS_INLINE void transpose8(__m256 v[8])
{
    __m256 a[8], b[8];
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]);
    }
    UNROLL
    for (size_t i = 0; i < 8; i += 4) {
        b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        v[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}

/* 4 bytes in every element. */
SL_ALWAYS_INLINE __m256i broadcast4(const void *p)
{
    return _mm256_set1_epi32((int)sl_load_le32(p));
}

/* acc + sum * (d * dx), with one rounding after that of d * dx. */
SL_ALWAYS_INLINE __m256 add_scaled(__m256 acc, __m256i sum, __m256 d, float dx)
{
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(d, _mm256_set1_ps(dx)), acc);
}

/* What is asked for while rows are multiplied: as many bytes as they have, further on, and from row r1 on those at
 * `next`. from: NULL, nothing. */
typedef struct onward {
    const uint8_t *from, *end;
    ptrdiff_t jump;
} onward;

/* `by` bytes behind `now`, where the rows begin. */
SL_ALWAYS_INLINE onward onward_from(const uint8_t *now, size_t by, const sl_tensor *w, size_t r1, const void *next)
{
    if (next == sl_nothing_next)
        return (onward){ 0 };
    const uint8_t *end = (const uint8_t *)w->data + r1 * w->row_bytes;
    return (onward){ now + by, end, next ? (const uint8_t *)next - end : 0 };
}

/* Of 8 rows side by side, the first of them at `row`. */
SL_ALWAYS_INLINE onward onward_rows(const uint8_t *row, const sl_tensor *w, size_t r1, const void *next)
{
    return onward_from(row, sl_linear_ahead(w, SL_PANEL_ROWS), w, r1, next);
}

/* n bytes, when `at` bytes of the rows are multiplied; n is a constant. */
SL_ALWAYS_INLINE void fetch_onward(const onward *o, size_t at, size_t n)
{
    if (!o->from)
        return;
    const uint8_t *p = o->from + at;
    sl_cpu_prefetch_bytes(p + (p < o->end ? 0 : o->jump), n);
}

#define LINEAR_TILE     4 /* tokens that share the loads of one panel, or of one stored group in registers */
#define LINEAR_TILE_MAX 8 /* vectors of results, of 8 tokens or of several panels: they may wait in memory */
#define SIDE_PANELS     4 /* of interleaved rows that one token reads side by side, each of them a stream */
static_assert(LINEAR_TILE_MAX >= SL_LANES && LINEAR_TILE_MAX >= 2 * LINEAR_TILE && LINEAR_TILE_MAX >= SIDE_PANELS,
              "all fit");

/* Where the tokens of a tile and one group lie: in sl_act, or `turned` in a sl_lanes. */
typedef struct act_at {
    const int8_t *q;
    const float *d, *dsum;
    const int16_t *half, *eight; /* two for each group; lanes have no half */
    size_t ldq, ldg;             /* from one token to the next */
    bool turned;                 /* a constant where these functions are inlined */
} act_at;

SL_ALWAYS_INLINE act_at act_group(const sl_act *x, size_t t, size_t g)
{
    const size_t i = t * x->G + g;
    return (act_at){ .q = x->q8 + i * SL_GROUP,
                     .d = x->d + i,
                     .dsum = x->dsum + i,
                     .half = x->half + 2 * i,
                     .eight = x->eight + 2 * i,
                     .ldq = x->G * SL_GROUP,
                     .ldg = x->G };
}

SL_ALWAYS_INLINE act_at act_lanes(const sl_lanes *x)
{
    return (act_at){
        .q = (const int8_t *)x->q, .d = x->d, .dsum = x->dsum, .eight = x->eight[0], .ldg = 1, .turned = true
    };
}

/* Elements 4i .. 4i+3 of token t, broadcast. */
SL_ALWAYS_INLINE __m256i act_word(act_at x, size_t t, size_t i)
{
    if (!x.turned)
        return broadcast4(x.q + t * x.ldq + 4 * i);
    const size_t place = i / 2 * 8 + t / 2 % 2 * 4 + t / 4 * 2 + t % 2; /* of 8 elements, in sl_lanes.q */
    return broadcast4(x.q + 8 * place + i % 2 * 4);
}

/* The results of n tokens times 8 rows, of which `rows` are there: begun at 0, or taken up again, and put down. n is a
 * constant. */
SL_ALWAYS_INLINE void zero_tile(__m256 *acc, size_t n)
{
    UNROLL
    for (size_t i = 0; i < n; i++)
        acc[i] = _mm256_setzero_ps();
}
SL_ALWAYS_INLINE void load_tile(__m256 *acc, const float *y, size_t ldy, size_t rows, size_t n, bool first)
{
    UNROLL
    for (size_t i = 0; i < n; i++)
        acc[i] = first ? _mm256_setzero_ps() : load_some(y + i * ldy, rows);
}
SL_ALWAYS_INLINE void store_tile(float *y, size_t ldy, const __m256 *acc, size_t rows, size_t n)
{
    UNROLL
    for (size_t i = 0; i < n; i++)
        store_some(y + i * ldy, acc[i], rows);
}

/* The same for 8 rows each of `panels`, a constant, as far as `rows` reach: n results of each, one after another. */
SL_ALWAYS_INLINE void store_panels(float *y, size_t ldy, const __m256 *acc, size_t rows, size_t n, size_t panels)
{
    UNROLL
    for (size_t p = 0; p < panels; p++)
        store_tile(y + p * SL_PANEL_ROWS, ldy, acc + p * n, SL_MIN(SL_PANEL_ROWS, rows - p * SL_PANEL_ROWS), n);
}

/* What follows `tile` below are its last arguments. Those, and the number of tokens, are constants there, so that it is
 * inlined once for each. */

/* A sl_panel_decode_fn. */
#define DECODE_WITH(name, decode, ...)                                                                                 \
    void name(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)                               \
    {                                                                                                                  \
        decode(dst, w, r0, r1, k0, k1, __VA_ARGS__);                                                                   \
    }

/* tile(before, n, ...) for n <= LINEAR_TILE tokens; `before` are arguments in parentheses. */
#define TILE_OF(n, tile, before, ...)                                                                                  \
    switch (n) {                                                                                                       \
    case 1:                                                                                                            \
        tile(ARGUMENTS before, 1, ##__VA_ARGS__);                                                                      \
        break;                                                                                                         \
    case 2:                                                                                                            \
        tile(ARGUMENTS before, 2, ##__VA_ARGS__);                                                                      \
        break;                                                                                                         \
    case 3:                                                                                                            \
        tile(ARGUMENTS before, 3, ##__VA_ARGS__);                                                                      \
        break;                                                                                                         \
    default:                                                                                                           \
        tile(ARGUMENTS before, LINEAR_TILE, ##__VA_ARGS__);                                                            \
        break;                                                                                                         \
    }
#define ARGUMENTS(...) __VA_ARGS__

/* A sl_panel_micro_fn that multiplies up to `at_once` panels by what follows: a statement about the panels from `panel`
 * on, of which `here` rows are there, and the n tokens from t on, whose results go to `to`. */
#define MICRO_BY_PANELS(name, at_once, ...)                                                                            \
    void name(float *y, size_t ldy, const void *panels, size_t stride, size_t rows, size_t k0, size_t k1,              \
              const sl_act *x, size_t t0, size_t t1, bool first)                                                       \
    {                                                                                                                  \
        const uint8_t *panel = panels;                                                                                 \
        for (size_t r = 0; r < rows; r += (at_once)*SL_PANEL_ROWS, panel += (at_once)*stride) {                        \
            const size_t here = SL_MIN((at_once) * (size_t)SL_PANEL_ROWS, rows - r);                                   \
            for (size_t t = t0, n; t < t1; t += n) {                                                                   \
                float *to = y + (t - t0) * ldy + r;                                                                    \
                n = SL_MIN(t1 - t, (size_t)LINEAR_TILE);                                                               \
                __VA_ARGS__                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
#define MICRO_TILE(tile, ...)           TILE_OF(n, tile, (to, ldy, panel, here, k0, k1, x, t, first), ##__VA_ARGS__)
#define MICRO_BY_TILES(name, tile, ...) MICRO_BY_PANELS(name, 1, MICRO_TILE(tile, ##__VA_ARGS__))
/* The tile takes one panel or two, and how far the second is. */
#define MICRO_BY_PAIRS(name, tile, ...)                                                                                \
    MICRO_BY_PANELS(                                                                                                   \
        name, 2, if (here > SL_PANEL_ROWS) {                                                                           \
            MICRO_TILE(tile, stride, 2, ##__VA_ARGS__)                                                                 \
        } else { MICRO_TILE(tile, stride, 1, ##__VA_ARGS__) })

/* A sl_panel_narrow_fn, 8 rows after another. */
#define NARROW_BY_ROWS(name, tile, ...)                                                                                \
    void name(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next, const sl_act *x,       \
              size_t t0, size_t t1)                                                                                    \
    {                                                                                                                  \
        for (size_t r = r0; r < r1; r += SL_PANEL_ROWS, y += SL_PANEL_ROWS)                                            \
            for (size_t t = t0, n; t < t1; t += n) {                                                                   \
                float *to = y + (t - t0) * ldy;                                                                        \
                n = SL_MIN(t1 - t, (size_t)LINEAR_TILE);                                                               \
                TILE_OF(n, tile, (to, ldy, w, r, r1, next, x, t), ##__VA_ARGS__)                                       \
            }                                                                                                          \
    }

/* The same, static, of interleaved rows: the last argument of `tile` is how many panels it takes, which lie apart. In
 * several streams one token meets SIDE_PANELS at a time. */
#define NARROW_BY_PANELS(name, tile, ...)                                                                              \
    static NARROW_BY_ROWS(name##_in_order, tile, ##__VA_ARGS__, 1)                                                     \
    static void name(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,                 \
                     const sl_act *x, size_t t0, size_t t1)                                                            \
    {                                                                                                                  \
        const size_t step = SIDE_PANELS * SL_PANEL_ROWS;                                                               \
        if (next == sl_nothing_next && t1 - t0 == 1)                                                                   \
            for (; r0 + step <= r1; r0 += step, y += step)                                                             \
                tile(y, ldy, w, r0, r1, next, x, t0, 1, ##__VA_ARGS__, SIDE_PANELS);                                   \
        name##_in_order(y, ldy, w, r0, r1, next, x, t0, t1);                                                           \
    }

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

#endif
