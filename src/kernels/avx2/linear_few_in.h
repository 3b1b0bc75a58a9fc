/* linear_few_in.h - 8 tokens (sl_lanes) times stored weights without sign of 4 or 5 bits.
 *
 * Interleaved rows are lanes as ever, and the tokens' words, which then lie side by side, are broadcast. Of other rows,
 * which would have to be transposed, tokens are the lanes: 32 weights of a row become 32 bytes one after
 * another, in memory that stays in L1, and 8 of them at a time, broadcast, which is a load and nothing else, meet 4
 * tokens and then the other 4. The activations of a group are 8 registers while 8 rows pass; the rows' results, a
 * vector each, wait in L1. What the next group of rows holds is decoded meanwhile, two rows before two are multiplied:
 * done before instead, it would hide behind nothing.
 *
 * Sums and their order are those of linear_u_in.h, and so are the bits. */
#ifndef SL_KERNELS_AVX2_LINEAR_FEW_IN_H
#define SL_KERNELS_AVX2_LINEAR_FEW_IN_H

#include "kernels/avx2/linear_u_in.h"

/* 8 rows x 32 columns; d and m as in u_offset_group. */
typedef struct few_weights {
    _Alignas(32) uint8_t q[SL_PANEL_ROWS][SL_GROUP];
    float d[SL_PANEL_ROWS], m[SL_PANEL_ROWS];
} few_weights;

/* Read what was stored instead of making it once more of registers: broadcasts of memory are loads and nothing else. */
#define IN_MEMORY(v) __asm__("" : "+m"(v))

#define FEW_ROWS 2 /* multiplied side by side: more chains than one keep the multipliers busy */

/* Sums of one group, token t in element t, of what the even and the odd fours of weights gave, 4 tokens each. */
SL_ALWAYS_INLINE __m256i few_sum(const __m256i s[2], const sl_lanes *x, u_kind kind)
{
    const __m256i ones = _mm256_set1_epi16(1), eight = load_i(x->eight);
    const __m256 a = _mm256_castsi256_ps(s[0]), b = _mm256_castsi256_ps(s[1]);
    __m256i even = _mm256_castps_si256(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
    const __m256i odd = _mm256_castps_si256(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
    if (kind.offset == U_MIDDLE)
        even = _mm256_sub_epi16(even, kind.five ? _mm256_add_epi16(eight, eight) : eight);
    if (kind.five) /* 8 products are what 16 bits hold */
        return _mm256_add_epi32(_mm256_madd_epi16(even, ones), _mm256_madd_epi16(odd, ones));
    return _mm256_madd_epi16(_mm256_add_epi16(even, odd), ones);
}

SL_ALWAYS_INLINE void few_load(__m256i q[4][2], const sl_lanes *x)
{
    UNROLL
    for (size_t i = 0; i < 8; i++)
        q[i / 2][i % 2] = load_i(x->q[i / 2][i % 2]);
}

/* acc[r][t] += one group of row r times token t, for FEW_ROWS rows from r0 on; q: of x. kind is a constant where this
 * is inlined. */
SL_ALWAYS_INLINE void few_add(float acc[SL_PANEL_ROWS][SL_LANES], const few_weights *w, const sl_lanes *x,
                              __m256i q[4][2], size_t r0, u_kind kind)
{
    __m256i s[FEW_ROWS][2];
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        UNROLL
        for (size_t r = 0; r < FEW_ROWS; r++) {
            const __m256i word = _mm256_set1_epi64x((int64_t)sl_load_le64(w->q[r0 + r] + 8 * i));
            UNROLL
            for (size_t h = 0; h < 2; h++) {
                const __m256i p = _mm256_maddubs_epi16(word, q[i][h]);
                s[r][h] = i ? _mm256_add_epi16(s[r][h], p) : p;
                IN_ORDER(s[r][h]);
            }
        }
    }
    UNROLL
    for (size_t r = 0; r < FEW_ROWS; r++) {
        const __m256 sum = _mm256_cvtepi32_ps(few_sum(s[r], x, kind));
        const __m256 scale = _mm256_mul_ps(_mm256_set1_ps(w->d[r0 + r]), _mm256_loadu_ps(x->d));
        __m256 a = _mm256_load_ps(acc[r0 + r]);
        if (kind.offset == U_MINIMA)
            a = _mm256_fmadd_ps(_mm256_set1_ps(w->m[r0 + r]), _mm256_loadu_ps(x->dsum), a);
        _mm256_store_ps(acc[r0 + r], _mm256_fmadd_ps(sum, scale, a));
    }
}

/* y[t][r] for the first `rows` rows. */
SL_ALWAYS_INLINE void few_store(float *y, size_t ldy, float acc[SL_PANEL_ROWS][SL_LANES], size_t rows)
{
    __m256 v[8];
    UNROLL
    for (size_t i = 0; i < 8; i++)
        v[i] = _mm256_load_ps(acc[i]);
    transpose8(v);
    UNROLL
    for (size_t t = 0; t < SL_LANES; t++)
        store_some(y + t * ldy, v[t], rows);
}

/* A sl_panel_few_fn, of a format with n groups in a block of `bytes`. What its rows hold is made of
 *   load_row(q, block, i, ...)            the 32 bytes of group i of a row's block
 *   load_scales(groups, rows, at, ...)    d and m of all n groups, of the blocks that begin `at` bytes into 8 rows
 * whose last arguments follow; these, kind, n and bytes are constants. */
#define FEW_BY_ROWS(name, load_row, load_scales, kind, n, bytes, ...)                                                  \
    void name(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next, const sl_lanes *lanes) \
    {                                                                                                                  \
        const size_t end = w->cols / SL_GROUP / (n) * (bytes);                                                         \
        for (size_t r = r0; r < r1; r += SL_PANEL_ROWS, y += SL_PANEL_ROWS) {                                          \
            _Alignas(32) float acc[SL_PANEL_ROWS][SL_LANES] = { 0 };                                                   \
            const stored_rows rows = rows_stored(w, r, r1, false);                                                     \
            const uint8_t *const *row = rows.row;                                                                      \
            const onward ahead = onward_rows(row[0], w, r1, next);                                                     \
            few_weights groups[2][n], *now = groups[0], *then = groups[1];                                             \
            for (size_t i = 0; i < (n)*SL_PANEL_ROWS; i++)                                                             \
                load_row(now[i % (n)].q[i / (n)], row[i / (n)], i % (n), ##__VA_ARGS__);                               \
            load_scales(now, &rows, 0, ##__VA_ARGS__);                                                                 \
            const sl_lanes *x = lanes;                                                                                 \
            for (size_t at = 0; at < end; at += (bytes)) {                                                             \
                const size_t after = at + (bytes) < end ? at + (bytes) : at; /* the last is decoded once more */       \
                for (size_t i = 0; i < (n); i++, x++) {                                                                \
                    __m256i q[4][2];                                                                                   \
                    few_load(q, x);                                                                                    \
                    IN_MEMORY(groups);                                                                                 \
                    UNROLL                                                                                             \
                    for (size_t j = 0; j < SL_PANEL_ROWS; j += FEW_ROWS) {                                             \
                        load_row(then[i].q[j], row[j] + after, i, ##__VA_ARGS__);                                      \
                        load_row(then[i].q[j + 1], row[j + 1] + after, i, ##__VA_ARGS__);                              \
                        few_add(acc, &now[i], x, q, j, kind);                                                          \
                    }                                                                                                  \
                    fetch_onward(&ahead, SL_PANEL_ROWS *at + i * (SL_PANEL_ROWS * (bytes) / (n)),                      \
                                 SL_PANEL_ROWS * (bytes) / (n));                                                       \
                }                                                                                                      \
                load_scales(then, &rows, after, ##__VA_ARGS__);                                                        \
                few_weights *swap = now;                                                                               \
                now = then;                                                                                            \
                then = swap;                                                                                           \
            }                                                                                                          \
            few_store(y, ldy, acc, SL_MIN(SL_PANEL_ROWS, r1 - r));                                                     \
        }                                                                                                              \
    }

/* A sl_panel_few_fn of interleaved rows; what follows `tile` are its last arguments. */
#define FEW_BY_TILES(name, tile, ...)                                                                                  \
    void name(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next, const sl_lanes *lanes) \
    {                                                                                                                  \
        for (size_t r = r0; r < r1; r += SL_PANEL_ROWS, y += SL_PANEL_ROWS)                                            \
            tile(y, ldy, w, r, r1, next, NULL, 0, SL_LANES, lanes, __VA_ARGS__);                                       \
    }

/* Group g of a tile's n tokens, n a constant: SL_LANES are lanes [G], as FEW_BY_TILES has it, and fewer, as
 * NARROW_BY_ROWS has it, are rows of x from t on. */
SL_ALWAYS_INLINE act_at act_of(const sl_act *x, size_t t, size_t n, const sl_lanes *lanes, size_t g)
{
    return n == SL_LANES ? act_lanes(lanes + g) : act_group(x, t, g);
}

#endif
