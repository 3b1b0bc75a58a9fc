/* linear_u4.c - panel type u4: 4-bit weights without sign, times 8-bit activations.
 *
 * A group is 8 rows x 32 columns: q[i] holds for each row its 4 weights k = 4i .. 4i+3, then
 * the rows' scales and, for Q4_1, minima. One activation word, broadcast, meets 8 rows.
 *
 * Per group of an element, in the order of groups (this sequence is the panel type's definition):
 *   s    = sum of w * x, exact; Q4_0: minus 8 * sum of x, exact
 *   acc  = fma(s, d * dx, acc)
 *   acc  = fma(m, dsum, acc)      Q4_1 only
 *
 * No sum can saturate: maddubs adds 2 products, and an s16 lane takes all 8 of them:
 * 16 products of at most 15 * 127, which is 30,480. */
#include "kernels/avx2/linear_in.h"

typedef struct q4_0_group {
    uint8_t q[8][32];
    float d[8];
} q4_0_group;

typedef struct q4_1_group {
    uint8_t q[8][32];
    float d[8], m[8];
} q4_1_group;

#define TILE       4    /* tokens that share the loads of one panel */
#define NARROW_MAX 8    /* beyond, storing the nibbles once pays */
#define BLOCK      1024 /* columns: a panel of 10 KiB stays in L1 beside its activations */

/* Where the tokens of a tile and one group lie in sl_act. */
typedef struct act_at {
    const int8_t *q;
    const float *d, *dsum;
    const int32_t *sum;
    size_t ldq, ldg; /* from one token to the next */
} act_at;

SL_ALWAYS_INLINE act_at act_group(const sl_act *x, size_t t, size_t g)
{
    const size_t i = t * x->G + g;
    return (act_at){ x->q8 + i * SL_GROUP, x->d + i, x->dsum + i, x->sum + i, x->G * SL_GROUP, x->G };
}

/* One group of 8 rows times n tokens; n and mins are constants where this is inlined. */
SL_ALWAYS_INLINE void add_group(__m256 *acc, const __m256i *q, __m256 d, __m256 m, act_at x, size_t n, bool mins)
{
    __m256i s[TILE];
    UNROLL
    for (size_t i = 0; i < 8; i++) {
        const __m256i w = q[i];
        UNROLL
        for (size_t t = 0; t < n; t++) {
            const __m256i p = _mm256_maddubs_epi16(w, broadcast4(x.q + t * x.ldq + 4 * i));
            s[t] = i ? _mm256_add_epi16(s[t], p) : p;
            IN_ORDER(s[t]);
        }
    }
    UNROLL
    for (size_t t = 0; t < n; t++) {
        __m256i sum = _mm256_madd_epi16(s[t], _mm256_set1_epi16(1));
        if (!mins)
            sum = _mm256_sub_epi32(sum, _mm256_slli_epi32(_mm256_set1_epi32(x.sum[t * x.ldg]), 3));
        const __m256 scale = _mm256_mul_ps(d, _mm256_set1_ps(x.d[t * x.ldg]));
        acc[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, acc[t]);
        if (mins)
            acc[t] = _mm256_fmadd_ps(m, _mm256_set1_ps(x.dsum[t * x.ldg]), acc[t]);
    }
}

/* Nibbles of the blocks at `at` of 8 rows: q[0..4) the low ones, k = 0..15, q[4..8) the high ones. */
SL_ALWAYS_INLINE void nibbles(__m256i q[8], const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    const __m256i low = _mm256_set1_epi8(15);
    __m256i v[4];
    transpose_dwords(v, row, at);
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        q[i] = _mm256_and_si256(v[i], low);
        q[i + 4] = _mm256_and_si256(_mm256_srli_epi16(v[i], 4), low);
    }
}

/* ---- decode and micro ---------------------------------------------------------- */

static void decode_q4_0(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    q4_0_group *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out++) {
        const size_t at = g * sizeof(sl_block_q4_0);
        __m256i q[8];
        nibbles(q, row, at + offsetof(sl_block_q4_0, q));
        UNROLL
        for (size_t i = 0; i < 8; i++)
            store_i(out->q[i], q[i]);
        _mm256_storeu_ps(out->d, halves(row, at + offsetof(sl_block_q4_0, d)));
    }
}

static void decode_q4_1(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    q4_1_group *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out++) {
        const size_t at = g * sizeof(sl_block_q4_1);
        __m256i q[8];
        nibbles(q, row, at + offsetof(sl_block_q4_1, q));
        UNROLL
        for (size_t i = 0; i < 8; i++)
            store_i(out->q[i], q[i]);
        _mm256_storeu_ps(out->d, halves(row, at + offsetof(sl_block_q4_1, d)));
        _mm256_storeu_ps(out->m, halves(row, at + offsetof(sl_block_q4_1, m)));
    }
}

SL_ALWAYS_INLINE void micro_tile(float *y, size_t ldy, const uint8_t *panel, size_t rows, size_t k0, size_t k1,
                                 const sl_act *x, size_t t, bool first, size_t n, bool mins)
{
    __m256 acc[TILE];
    UNROLL
    for (size_t i = 0; i < n; i++)
        acc[i] = first ? _mm256_setzero_ps() : load_rows(y + i * ldy, rows);
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++) {
        const __m256i *q = (const __m256i *)(const void *)panel;
        const float *scale = (const float *)(const void *)(panel + sizeof((q4_0_group *)0)->q);
        add_group(acc, q, _mm256_loadu_ps(scale), mins ? _mm256_loadu_ps(scale + 8) : _mm256_setzero_ps(),
                  act_group(x, t, g), n, mins);
        panel += mins ? sizeof(q4_1_group) : sizeof(q4_0_group);
    }
    UNROLL
    for (size_t i = 0; i < n; i++)
        store_rows(y + i * ldy, acc[i], rows);
}

SL_ALWAYS_INLINE void micro(float *y, size_t ldy, const void *panel, size_t rows, size_t k0, size_t k1, const sl_act *x,
                            size_t t0, size_t t1, bool first, bool mins)
{
    size_t t = t0;
    for (; t + TILE <= t1; t += TILE, y += TILE * ldy)
        micro_tile(y, ldy, panel, rows, k0, k1, x, t, first, TILE, mins);
    switch (t1 - t) {
    case 3:
        micro_tile(y, ldy, panel, rows, k0, k1, x, t, first, 3, mins);
        break;
    case 2:
        micro_tile(y, ldy, panel, rows, k0, k1, x, t, first, 2, mins);
        break;
    case 1:
        micro_tile(y, ldy, panel, rows, k0, k1, x, t, first, 1, mins);
        break;
    default:
        break;
    }
}

static void micro_q4_0(float *y, size_t ldy, const void *panel, size_t rows, size_t k0, size_t k1, const sl_act *x,
                       size_t t0, size_t t1, bool first)
{
    micro(y, ldy, panel, rows, k0, k1, x, t0, t1, first, false);
}

static void micro_q4_1(float *y, size_t ldy, const void *panel, size_t rows, size_t k0, size_t k1, const sl_act *x,
                       size_t t0, size_t t1, bool first)
{
    micro(y, ldy, panel, rows, k0, k1, x, t0, t1, first, true);
}

/* ---- narrow -------------------------------------------------------------------- */

/* n tokens x 8 rows; `fetch` asks for the next 8 rows on the way. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x,
                                  size_t t, bool fetch, size_t n, bool mins)
{
    const size_t block = mins ? sizeof(sl_block_q4_1) : sizeof(sl_block_q4_0);
    const size_t at_q = mins ? offsetof(sl_block_q4_1, q) : offsetof(sl_block_q4_0, q);
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    const uint8_t *ahead = row[0] + SL_PANEL_ROWS * w->row_bytes;
    __m256 acc[TILE];
    UNROLL
    for (size_t i = 0; i < n; i++)
        acc[i] = _mm256_setzero_ps();
    for (size_t g = 0, at = 0; g < x->G; g++, at += block) {
        __m256i q[8];
        nibbles(q, row, at + at_q);
        const __m256 d = halves(row, at), m = mins ? halves(row, at + 2) : _mm256_setzero_ps();
        add_group(acc, q, d, m, act_group(x, t, g), n, mins);
        if (fetch)
            fetch_bytes(ahead + SL_PANEL_ROWS * at, SL_PANEL_ROWS * block);
    }
    const size_t rows = SL_MIN(SL_PANEL_ROWS, r1 - r0);
    UNROLL
    for (size_t i = 0; i < n; i++)
        store_rows(y + i * ldy, acc[i], rows);
}

SL_ALWAYS_INLINE void narrow(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x, size_t t0,
                             size_t t1, bool mins)
{
    for (size_t r = r0; r < r1; r += SL_PANEL_ROWS)
        for (size_t t = t0; t < t1; t += TILE) {
            float *out = y + (t - t0) * ldy + (r - r0);
            const bool fetch = t == t0;
            switch (t1 - t) {
            case 1:
                narrow_tile(out, ldy, w, r, r1, x, t, fetch, 1, mins);
                break;
            case 2:
                narrow_tile(out, ldy, w, r, r1, x, t, fetch, 2, mins);
                break;
            case 3:
                narrow_tile(out, ldy, w, r, r1, x, t, fetch, 3, mins);
                break;
            default:
                narrow_tile(out, ldy, w, r, r1, x, t, fetch, 4, mins);
                break;
            }
        }
}

static void narrow_q4_0(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x, size_t t0,
                        size_t t1)
{
    narrow(y, ldy, w, r0, r1, x, t0, t1, false);
}

static void narrow_q4_1(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x, size_t t0,
                        size_t t1)
{
    narrow(y, ldy, w, r0, r1, x, t0, t1, true);
}

void sl_linear_init_avx2_u4(sl_kernels *k)
{
    const sl_panel q4_0 = { .name = "u4 x8",
                            .needs = SL_NEED_Q8,
                            .narrow_needs = SL_NEED_Q8,
                            .group_bytes = sizeof(q4_0_group),
                            .k_block = BLOCK,
                            .decode = decode_q4_0,
                            .micro = micro_q4_0,
                            .narrow = narrow_q4_0,
                            .narrow_max = NARROW_MAX };
    sl_panel q4_1 = q4_0;
    q4_1.name = "u4 x8";
    q4_1.group_bytes = sizeof(q4_1_group);
    q4_1.decode = decode_q4_1;
    q4_1.micro = micro_q4_1;
    q4_1.narrow = narrow_q4_1;
    k->panel[SL_FORMAT_Q4_0][SL_ACT_Q8] = q4_0;
    k->panel[SL_FORMAT_Q4_1][SL_ACT_Q8] = q4_1;
}
