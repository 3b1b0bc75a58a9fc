/* linear_s16.c - panel type s16 (see linear_s16_in.h): micro; Q8_0; and a decoder for every format that is
 * groups of whole numbers and has no faster one. */
#include "kernels/avx2/linear_s16_in.h"

#include "quant/quant.h"

#define NARROW_MAX 24 /* beyond, widening once pays */

/* ---- decode and micro ---------------------------------------------------------- */

static void decode_any(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const sl_quant *quant = sl_quant_get(w->format);
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    uint8_t *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++) {
        s16_min_group *panel = (s16_min_group *)(void *)out;
        for (size_t r = 0; r < SL_PANEL_ROWS; r++) {
            sl_quant_group x;
            quant->group(&x, row[r], g);
            for (size_t i = 0; i < 16; i++)
                memcpy(&panel->q[i][2 * r], &x.q[2 * i], 2 * sizeof x.q[0]);
            panel->d[r] = x.d;
            if (quant->minima)
                panel->m[r] = x.m;
        }
        out += quant->minima ? sizeof(s16_min_group) : sizeof(s16_group);
    }
}

static void decode_q8_0(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    s16_group *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out++) {
        const size_t at = g * sizeof(sl_block_q8_0);
        __m256i v[8];
        transpose_group(v, row, at + offsetof(sl_block_q8_0, q));
        UNROLL
        for (size_t i = 0; i < 8; i++) {
            __m256i first, second;
            widen_pairs(&first, &second, v[i]);
            store_i(out->q[2 * i], first);
            store_i(out->q[2 * i + 1], second);
        }
        _mm256_storeu_ps(out->d, halves(row, at + offsetof(sl_block_q8_0, d)));
    }
}

SL_ALWAYS_INLINE void micro_tile(float *y, size_t ldy, const uint8_t *panel, size_t rows, size_t k0, size_t k1,
                                 const sl_act *x, size_t t, bool first, size_t n, bool mins)
{
    __m256 acc[LINEAR_TILE];
    UNROLL
    for (size_t i = 0; i < n; i++)
        acc[i] = first ? _mm256_setzero_ps() : load_rows(y + i * ldy, rows);
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++) {
        const s16_min_group *group = (const s16_min_group *)(const void *)panel;
        const size_t at = t * x->G + g;
        const int16_t *q = x->q16 + at * SL_GROUP;
        __m256i s[LINEAR_TILE];
        UNROLL
        for (size_t i = 0; i < 16; i++) {
            const __m256i w = load_i(group->q[i]);
            UNROLL
            for (size_t j = 0; j < n; j++) {
                const __m256i p = _mm256_madd_epi16(w, broadcast4(q + j * x->G * SL_GROUP + 2 * i));
                s[j] = i ? _mm256_add_epi32(s[j], p) : p;
                IN_ORDER(s[j]);
            }
        }
        const __m256 scale = _mm256_loadu_ps(group->d);
        UNROLL
        for (size_t j = 0; j < n; j++) {
            acc[j] = add_scaled(acc[j], s[j], scale, x->d[at + j * x->G]);
            if (mins)
                acc[j] = _mm256_fmadd_ps(_mm256_loadu_ps(group->m), _mm256_set1_ps(x->dsum[at + j * x->G]), acc[j]);
        }
        panel += mins ? sizeof(s16_min_group) : sizeof(s16_group);
    }
    UNROLL
    for (size_t i = 0; i < n; i++)
        store_rows(y + i * ldy, acc[i], rows);
}

MICRO_BY_TILES(sl_micro_s16_avx2, micro_tile, false)
static MICRO_BY_TILES(micro_mins, micro_tile, true)

    /* ---- narrow -------------------------------------------------------------------- */

    /* n tokens x 8 rows; `fetch` asks for the next 8 rows on the way. */
    SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x,
                                      size_t t, bool fetch, size_t n)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    const uint8_t *ahead = row[0] + SL_PANEL_ROWS * w->row_bytes;
    __m256 acc[LINEAR_TILE];
    UNROLL
    for (size_t i = 0; i < n; i++)
        acc[i] = _mm256_setzero_ps();
    for (size_t g = 0, at = 0; g < x->G; g++, at += sizeof(sl_block_q8_0)) {
        __m256i v[8];
        transpose_group(v, row, at + offsetof(sl_block_q8_0, q));
        add_bytes(acc, v, halves(row, at + offsetof(sl_block_q8_0, d)), x, t, g, n);
        if (fetch)
            fetch_bytes(ahead + SL_PANEL_ROWS * at, SL_PANEL_ROWS * sizeof(sl_block_q8_0));
    }
    const size_t rows = SL_MIN(SL_PANEL_ROWS, r1 - r0);
    UNROLL
    for (size_t i = 0; i < n; i++)
        store_rows(y + i * ldy, acc[i], rows);
}

static NARROW_BY_TILES(narrow_q8_0, narrow_tile)

    void sl_linear_init_avx2_s16(sl_kernels *k)
{
    sl_panel any = { .name = "s16 x8", .needs = SL_NEED_Q16, .k_block = S16_BLOCK, .decode = decode_any };
    for (size_t f = 0; f < SL_FORMAT_COUNT; f++) {
        const sl_quant *quant = sl_quant_get((sl_format)f);
        if (!quant->group)
            continue;
        any.group_bytes = quant->minima ? sizeof(s16_min_group) : sizeof(s16_group);
        any.micro = quant->minima ? micro_mins : sl_micro_s16_avx2;
        k->panel[f][SL_ACT_Q8] = any;
    }
    sl_panel *q8_0 = &k->panel[SL_FORMAT_Q8_0][SL_ACT_Q8];
    q8_0->decode = decode_q8_0;
    q8_0->narrow = narrow_q8_0;
    q8_0->narrow_needs = SL_NEED_Q8;
    q8_0->narrow_max = NARROW_MAX;
}
