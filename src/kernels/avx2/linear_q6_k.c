/* linear_q6_k.c - panel type u6: Q6_K with 8-bit activations.
 *
 * A group is 8 rows x 32 columns of q = 0..63, so that no sign is in the way: with the small scales s of the group's
 * halves, and their sums of activations,
 *   sum = s0 * (q . x of the first half) + s1 * (q . x of the second) - 32 * (s0 * sum0 + s1 * sum1), exact
 *   acc = fma(sum, d * dx, acc)         in the order of groups
 * which is the definition of panel type s16, whose numbers are s * (q - 32).
 *
 * No sum can saturate: maddubs adds 2 products, an s16 lane takes 4 of at most 63 * 127, which is 32,004. */
#include "kernels/avx2/linear_u_in.h"

typedef struct u6_group {
    uint8_t q[8][32];     /* q[i]: k = 4i .. 4i+3 of each row */
    int16_t scale[2][16]; /* of each half, twice for each row */
    int16_t zero[16];     /* 32 times the two scales of each row */
    float d[8];
} u6_group;

/* One group in registers. */
typedef struct group_6 {
    __m256i q[8], scale[2], zero;
} group_6;

/* ---- stored blocks -------------------------------------------------------------- */

/* Half a super-block, transposed. */
typedef struct half_6 {
    __m256i low[2][8]; /* bytes 0..31, 32..63 */
    __m256i high[8];
} half_6;

SL_ALWAYS_INLINE void load_half(half_6 *h, const stored_rows *rows, size_t at, size_t half)
{
    load_8_dwords(h->low[0], rows, at + offsetof(sl_block_q6_k, low) + half * 64);
    load_8_dwords(h->low[1], rows, at + offsetof(sl_block_q6_k, low) + half * 64 + 32);
    load_8_dwords(h->high, rows, at + offsetof(sl_block_q6_k, high) + half * 32);
}

/* Group j < 4 of a half, j a constant: nibbles of bytes 32 (j % 2) on, and bits 2j of the high part. */
SL_ALWAYS_INLINE void pick_q(__m256i q[8], const half_6 *h, size_t j)
{
    const __m256i low = _mm256_set1_epi8(15), high = _mm256_set1_epi8(0x30);
    UNROLL
    for (size_t i = 0; i < 8; i++) {
        const __m256i l = j < 2 ? h->low[j % 2][i] : _mm256_srli_epi16(h->low[j % 2][i], 4), b = h->high[i];
        const __m256i up = j == 0   ? _mm256_slli_epi16(b, 4)
                           : j == 1 ? _mm256_slli_epi16(b, 2)
                           : j == 2 ? b
                                    : _mm256_srli_epi16(b, 2);
        q[i] = _mm256_or_si256(_mm256_and_si256(l, low), _mm256_and_si256(up, high));
    }
}

/* The small scales that begin at byte 2 * (j % 2) of a row's word: as the high bytes of s16, then shifted down. */
SL_ALWAYS_INLINE void pick_scales(group_6 *g, __m256i words, size_t j)
{
    const char a = (char)(j % 2 * 2), b = (char)(a + 1), z = -1;
#define SPREAD(x, y)                                                                                                   \
    _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(                                                            \
                                   _mm_setr_epi8(z, x, z, y, z, (char)(x + 4), z, (char)(y + 4), z, (char)(x + 8), z,  \
                                                 (char)(y + 8), z, (char)(x + 12), z, (char)(y + 12))))
    g->scale[0] = _mm256_srai_epi16(SPREAD(a, a), 8);
    g->scale[1] = _mm256_srai_epi16(SPREAD(b, b), 8);
    g->zero = _mm256_srai_epi16(SPREAD(a, b), 3);
#undef SPREAD
}

/* ---- the product ---------------------------------------------------------------- */

/* One group times n tokens. */
SL_ALWAYS_INLINE void add_group_6(__m256 *acc, const __m256i *q, const __m256i *scale, __m256i zero, __m256 d, act_at x,
                                  size_t n)
{
    __m256i s[LINEAR_TILE], sum[LINEAR_TILE];
    UNROLL
    for (size_t i = 0; i < 8; i++) {
        const __m256i w = q[i];
        UNROLL
        for (size_t t = 0; t < n; t++) {
            const __m256i p = _mm256_maddubs_epi16(w, broadcast4(x.q + t * x.ldq + 4 * i));
            s[t] = i % 2 ? _mm256_add_epi16(s[t], p) : p;
            IN_ORDER(s[t]);
        }
        if (i % 2 == 0)
            continue;
        UNROLL
        for (size_t t = 0; t < n; t++) {
            const __m256i wide = _mm256_madd_epi16(s[t], scale[i / 4]);
            sum[t] = i == 1 ? wide : _mm256_add_epi32(sum[t], wide);
            IN_ORDER(sum[t]);
        }
    }
    UNROLL
    for (size_t t = 0; t < n; t++) {
        sum[t] = _mm256_sub_epi32(sum[t], _mm256_madd_epi16(zero, broadcast4(x.half + t * x.ldg * 2)));
        const __m256 dx = _mm256_mul_ps(d, _mm256_set1_ps(x.d[t * x.ldg]));
        acc[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[t]), dx, acc[t]);
    }
}

SL_ALWAYS_INLINE void micro_tile(float *y, size_t ldy, const uint8_t *panel, size_t rows, size_t k0, size_t k1,
                                 const sl_act *x, size_t t, bool first, size_t n)
{
    const u6_group *p = (const u6_group *)(const void *)panel;
    __m256 acc[LINEAR_TILE];
    load_tile(acc, y, ldy, rows, n, first);
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, p++)
        add_group_6(acc, (const __m256i *)(const void *)p->q, (const __m256i *)(const void *)p->scale, load_i(p->zero),
                    _mm256_loadu_ps(p->d), act_group(x, t, g), n);
    store_tile(y, ldy, acc, rows, n);
}

SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                  const sl_act *x, size_t t, size_t n, bool interleaved)
{
    const stored_rows rows = rows_stored(w, r0, r1, interleaved);
    const onward ahead = onward_rows(rows.row[0], w, r1, next);
    __m256 acc[LINEAR_TILE];
    zero_tile(acc, n);
    for (size_t s = 0, at = 0; s < x->K / SL_SUPER; s++, at += sizeof(sl_block_q6_k)) {
        const __m256 d = load_halves(&rows, at + offsetof(sl_block_q6_k, d));
        __m256i scale[4];
        half_6 h;
        group_6 g;
        load_dwords(scale, &rows, at + offsetof(sl_block_q6_k, scale));
        fetch_onward(&ahead, SL_PANEL_ROWS * at, SL_PANEL_ROWS * sizeof(sl_block_q6_k));
        for (size_t half = 0; half < 2; half++) {
            load_half(&h, &rows, at, half);
            UNROLL
            for (size_t j = 0; j < 4; j++) {
                pick_q(g.q, &h, j);
                pick_scales(&g, scale[half * 2 + j / 2], j);
                add_group_6(acc, g.q, g.scale, g.zero, d, act_group(x, t, 8 * s + 4 * half + j), n);
            }
        }
    }
    store_tile(y, ldy, acc, SL_MIN(SL_PANEL_ROWS, r1 - r0), n);
}

/* ---- the table ------------------------------------------------------------------- */

SL_ALWAYS_INLINE void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1,
                             bool interleaved)
{
    const stored_rows rows = rows_stored(w, r0, r1, interleaved);
    u6_group *out = dst;
    for (size_t s = k0 / SL_SUPER; s < k1 / SL_SUPER; s++) {
        const size_t at = s * sizeof(sl_block_q6_k);
        const __m256 d = load_halves(&rows, at + offsetof(sl_block_q6_k, d));
        __m256i scale[4];
        half_6 h;
        group_6 g;
        load_dwords(scale, &rows, at + offsetof(sl_block_q6_k, scale));
        for (size_t half = 0; half < 2; half++) {
            load_half(&h, &rows, at, half);
            UNROLL
            for (size_t j = 0; j < 4; j++, out++) {
                pick_q(g.q, &h, j);
                pick_scales(&g, scale[half * 2 + j / 2], j);
                UNROLL
                for (size_t i = 0; i < 8; i++)
                    store_i(out->q[i], g.q[i]);
                store_i(out->scale[0], g.scale[0]);
                store_i(out->scale[1], g.scale[1]);
                store_i(out->zero, g.zero);
                _mm256_storeu_ps(out->d, d);
            }
        }
    }
}

#define FORMAT(id, interleaved)                                                                                        \
    static DECODE_WITH(decode_##id, decode, interleaved)                                                               \
    static NARROW_BY_ROWS(narrow_##id, narrow_tile, interleaved)
FORMAT(Q6_K, false)
FORMAT(Q6_K_R8, true)
#undef FORMAT

static MICRO_BY_TILES(micro, micro_tile)

static sl_panel panel(sl_panel_decode_fn *decode_fn, sl_panel_narrow_fn *narrow)
{
    return (sl_panel){ .name = "u6 x8",
                       .needs = SL_NEED_Q8,
                       .narrow_needs = SL_NEED_Q8,
                       .group_bytes = sizeof(u6_group),
                       .k_block = U_BLOCK,
                       .decode = decode_fn,
                       .micro = micro,
                       .narrow = narrow,
                       .narrow_max = LINEAR_TILE };
}

void sl_linear_init_avx2_q6_k(sl_kernels *k)
{
    k->panel[SL_FORMAT_Q6_K][SL_ACT_Q8] = panel(decode_Q6_K, narrow_Q6_K);
    k->panel[SL_FORMAT_Q6_K_R8][SL_ACT_Q8] = panel(decode_Q6_K_R8, narrow_Q6_K_R8);
}
