/* linear_s8.c - panel type s8: signed 8-bit weights, times 8-bit activations, exactly.
 *
 * A panel group is 8 rows x 32 columns widened to s16: q[i] holds for each row the pair of
 * weights k = 2i, 2i+1, then the rows' scales. pmaddwd with the widened activations; no sum
 * comes near s32 (32 * 128 * 127 is 520,192).
 *
 * narrow stays with bytes: |w| times the activation with the sign of w. maddubs adds 2 products
 * of at most 128 * 127, which is 32,512: no saturation, as activations are -127..127.
 *
 * Per group of an element, in the order of groups (this sequence is the panel type's definition):
 *   s    = sum of w * x, exact
 *   acc  = fma(s, d * dx, acc) */
#include "kernels/avx2/linear_in.h"

typedef struct q8_0_group {
    int16_t q[16][16];
    float d[8];
} q8_0_group;

#define TILE       4    /* tokens that share the loads of one panel */
#define NARROW_MAX 24   /* beyond, widening once pays */
#define BLOCK      1024 /* columns: a panel of 17 KiB stays in L1 beside its activations */

SL_ALWAYS_INLINE __m256 add_scaled(__m256 acc, __m256i sum, __m256 d, float dx)
{
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(d, _mm256_set1_ps(dx)), acc);
}

/* The 32 bytes at `at` of 8 rows: v[i] holds for each row the weights k = 4i .. 4i+3. */
SL_ALWAYS_INLINE void transpose_group(__m256i v[8], const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    transpose_dwords(v, row, at);
    transpose_dwords(v + 4, row, at + 16);
}

/* ---- decode and micro ---------------------------------------------------------- */

static void decode_q8_0(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    /* b0 b1 b2 b3 -> b0 b2 b1 b3: the low bytes of the words are then the first pair. */
    const __m256i order = _mm256_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15, 0, 2, 1, 3, 4, 6, 5, 7,
                                           8, 10, 9, 11, 12, 14, 13, 15);
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    q8_0_group *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out++) {
        const size_t at = g * sizeof(sl_block_q8_0);
        __m256i v[8];
        transpose_group(v, row, at + offsetof(sl_block_q8_0, q));
        UNROLL
        for (size_t i = 0; i < 8; i++) {
            const __m256i pairs = _mm256_shuffle_epi8(v[i], order);
            store_i(out->q[2 * i], _mm256_srai_epi16(_mm256_slli_epi16(pairs, 8), 8));
            store_i(out->q[2 * i + 1], _mm256_srai_epi16(pairs, 8));
        }
        _mm256_storeu_ps(out->d, halves(row, at + offsetof(sl_block_q8_0, d)));
    }
}

SL_ALWAYS_INLINE void micro_tile(float *y, size_t ldy, const q8_0_group *panel, size_t rows, size_t k0, size_t k1,
                                 const sl_act *x, size_t t, bool first, size_t n)
{
    __m256 acc[TILE];
    UNROLL
    for (size_t i = 0; i < n; i++)
        acc[i] = first ? _mm256_setzero_ps() : load_rows(y + i * ldy, rows);
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, panel++) {
        const int16_t *q = x->q16 + (t * x->G + g) * SL_GROUP;
        const float *d = x->d + t * x->G + g;
        __m256i s[TILE];
        UNROLL
        for (size_t i = 0; i < 16; i++) {
            const __m256i w = load_i(panel->q[i]);
            UNROLL
            for (size_t j = 0; j < n; j++) {
                const __m256i p = _mm256_madd_epi16(w, broadcast4(q + j * x->G * SL_GROUP + 2 * i));
                s[j] = i ? _mm256_add_epi32(s[j], p) : p;
                IN_ORDER(s[j]);
            }
        }
        const __m256 scale = _mm256_loadu_ps(panel->d);
        UNROLL
        for (size_t j = 0; j < n; j++)
            acc[j] = add_scaled(acc[j], s[j], scale, d[j * x->G]);
    }
    UNROLL
    for (size_t i = 0; i < n; i++)
        store_rows(y + i * ldy, acc[i], rows);
}

static void micro_q8_0(float *y, size_t ldy, const void *panel, size_t rows, size_t k0, size_t k1, const sl_act *x,
                       size_t t0, size_t t1, bool first)
{
    size_t t = t0;
    for (; t + TILE <= t1; t += TILE, y += TILE * ldy)
        micro_tile(y, ldy, panel, rows, k0, k1, x, t, first, TILE);
    switch (t1 - t) {
    case 3:
        micro_tile(y, ldy, panel, rows, k0, k1, x, t, first, 3);
        break;
    case 2:
        micro_tile(y, ldy, panel, rows, k0, k1, x, t, first, 2);
        break;
    case 1:
        micro_tile(y, ldy, panel, rows, k0, k1, x, t, first, 1);
        break;
    default:
        break;
    }
}

/* ---- narrow -------------------------------------------------------------------- */

/* n tokens x 8 rows; `fetch` asks for the next 8 rows on the way. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x,
                                  size_t t, bool fetch, size_t n)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    const uint8_t *ahead = row[0] + SL_PANEL_ROWS * w->row_bytes;
    __m256 acc[TILE];
    UNROLL
    for (size_t i = 0; i < n; i++)
        acc[i] = _mm256_setzero_ps();
    for (size_t g = 0, at = 0; g < x->G; g++, at += sizeof(sl_block_q8_0)) {
        __m256i v[8], s[TILE];
        transpose_group(v, row, at + offsetof(sl_block_q8_0, q));
        UNROLL
        for (size_t i = 0; i < 8; i++) {
            const __m256i abs = _mm256_abs_epi8(v[i]);
            UNROLL
            for (size_t j = 0; j < n; j++) {
                const __m256i a = broadcast4(x->q8 + ((t + j) * x->G + g) * SL_GROUP + 4 * i);
                const __m256i p = _mm256_maddubs_epi16(abs, _mm256_sign_epi8(a, v[i]));
                const __m256i sum = _mm256_madd_epi16(p, _mm256_set1_epi16(1));
                s[j] = i ? _mm256_add_epi32(s[j], sum) : sum;
                IN_ORDER(s[j]);
            }
        }
        const __m256 scale = halves(row, at + offsetof(sl_block_q8_0, d));
        UNROLL
        for (size_t j = 0; j < n; j++)
            acc[j] = add_scaled(acc[j], s[j], scale, x->d[(t + j) * x->G + g]);
        if (fetch)
            fetch_bytes(ahead + SL_PANEL_ROWS * at, SL_PANEL_ROWS * sizeof(sl_block_q8_0));
    }
    const size_t rows = SL_MIN(SL_PANEL_ROWS, r1 - r0);
    UNROLL
    for (size_t i = 0; i < n; i++)
        store_rows(y + i * ldy, acc[i], rows);
}

static void narrow_q8_0(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x, size_t t0,
                        size_t t1)
{
    for (size_t r = r0; r < r1; r += SL_PANEL_ROWS)
        for (size_t t = t0; t < t1; t += TILE) {
            float *out = y + (t - t0) * ldy + (r - r0);
            const bool fetch = t == t0;
            switch (t1 - t) {
            case 1:
                narrow_tile(out, ldy, w, r, r1, x, t, fetch, 1);
                break;
            case 2:
                narrow_tile(out, ldy, w, r, r1, x, t, fetch, 2);
                break;
            case 3:
                narrow_tile(out, ldy, w, r, r1, x, t, fetch, 3);
                break;
            default:
                narrow_tile(out, ldy, w, r, r1, x, t, fetch, 4);
                break;
            }
        }
}

void sl_linear_init_avx2_s8(sl_kernels *k)
{
    k->panel[SL_FORMAT_Q8_0][SL_ACT_Q8] = (sl_panel){ .name = "s16 x8",
                                                      .needs = SL_NEED_Q16,
                                                      .narrow_needs = SL_NEED_Q8,
                                                      .group_bytes = sizeof(q8_0_group),
                                                      .k_block = BLOCK,
                                                      .decode = decode_q8_0,
                                                      .micro = micro_q8_0,
                                                      .narrow = narrow_q8_0,
                                                      .narrow_max = NARROW_MAX };
}
