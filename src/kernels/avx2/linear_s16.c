/* linear_s16.c - panel type s16: every format that is groups of whole numbers and has no faster panel.
 *
 * A group is 8 rows x 32 columns: q[i] holds for each row the pair of weights k = 2i, 2i+1, then the rows' scales and,
 * for formats with minima, those. pmaddwd with the widened activations; no sum comes near s32 (32 * 4096 * 127 is
 * 16,646,144, which f32 holds exactly too).
 *
 * Per group of an element, in the order of groups (this sequence is the panel type's definition):
 *   s    = sum of w * x, exact
 *   acc  = fma(s, d * dx, acc)
 *   acc  = fma(m, dsum, acc)      with minima only */
#include "kernels/avx2/linear_in.h"

#include "quant/quant.h"

typedef struct s16_group {
    int16_t q[16][16];
    float d[8];
} s16_group;

typedef struct s16_min_group {
    int16_t q[16][16];
    float d[8], m[8];
} s16_min_group;

#define BLOCK 1024 /* columns: a panel of 17 KiB stays in L1 beside its activations */

static void decode_any(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const sl_quant *quant = sl_quant_get(w->format);
    uint8_t *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++) {
        s16_min_group *panel = (s16_min_group *)(void *)out;
        for (size_t r = 0; r < SL_PANEL_ROWS; r++) {
            sl_quant_group x;
            quant->group(&x, w, SL_MIN(r0 + r, r1 - 1), g);
            for (size_t i = 0; i < 16; i++)
                memcpy(&panel->q[i][2 * r], &x.q[2 * i], 2 * sizeof x.q[0]);
            panel->d[r] = x.d;
            if (quant->minima)
                panel->m[r] = x.m;
        }
        out += quant->minima ? sizeof(s16_min_group) : sizeof(s16_group);
    }
}

SL_ALWAYS_INLINE void micro_tile(float *y, size_t ldy, const uint8_t *panel, size_t rows, size_t k0, size_t k1,
                                 const sl_act *x, size_t t, bool first, size_t n, bool mins)
{
    __m256 acc[LINEAR_TILE];
    load_tile(acc, y, ldy, rows, n, first);
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
    store_tile(y, ldy, acc, rows, n);
}

#define MICRO(name, mins) static MICRO_BY_TILES(name, micro_tile, mins)
MICRO(micro, false)
MICRO(micro_mins, true)
#undef MICRO

void sl_linear_init_avx2_s16(sl_kernels *k)
{
    sl_panel any = { .name = "s16 x8", .k_block = BLOCK, .decode = decode_any };
    for (size_t f = 0; f < SL_FORMAT_COUNT; f++) {
        const sl_quant *quant = sl_quant_get((sl_format)f);
        if (!quant->group)
            continue;
        any.needs = sl_need_8((sl_format)f) | SL_NEED_Q16;
        any.group_bytes = quant->minima ? sizeof(s16_min_group) : sizeof(s16_group);
        any.micro = quant->minima ? micro_mins : micro;
        k->panel[f][SL_ACT_Q8] = any;
    }
}
