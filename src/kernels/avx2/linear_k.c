/* linear_k.c - Q4_K and Q5_K with 8-bit activations, as panel types u4 and u5 with minima. */
#include "kernels/avx2/linear_u_in.h"

#define NARROW_MAX 8

static_assert(offsetof(sl_block_q4_k, scale) == 4 && offsetof(sl_block_q5_k, scale) == 4, "both begin alike");

/* Scales and minima of one super-block of 8 rows. */
typedef struct k_scales {
    __m256 d, dmin;
    __m256i scale[2], minimum[2]; /* byte j of a row's word: of group j, of group 4 + j */
} k_scales;

SL_ALWAYS_INLINE __m256 halves_of_words(__m256i v)
{
    return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

/* The super-blocks at `at`; how the 6-bit numbers are packed is in quant/q4_k.c. */
SL_ALWAYS_INLINE k_scales load_scales(const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    const __m256i six = _mm256_set1_epi8(63), four = _mm256_set1_epi8(15), two = _mm256_set1_epi8(0x30);
    __m256i v[4];
    transpose_dwords(v, row, at);
    return (k_scales){
        .d = halves_of_words(_mm256_and_si256(v[0], _mm256_set1_epi32(0xffff))),
        .dmin = halves_of_words(_mm256_srli_epi32(v[0], 16)),
        .scale = { _mm256_and_si256(v[1], six),
                   _mm256_or_si256(_mm256_and_si256(v[3], four), _mm256_and_si256(_mm256_srli_epi32(v[1], 2), two)) },
        .minimum = { _mm256_and_si256(v[2], six), _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(v[3], 4), four),
                                                                  _mm256_and_si256(_mm256_srli_epi32(v[2], 2), two)) },
    };
}

/* Byte j of each row's word, as a float. */
SL_ALWAYS_INLINE __m256 byte_of(__m256i words, size_t j)
{
    const __m256i b =
        _mm256_and_si256(_mm256_srl_epi32(words, _mm_cvtsi32_si128((int)(8 * j))), _mm256_set1_epi32(255));
    return _mm256_cvtepi32_ps(b);
}

SL_ALWAYS_INLINE __m256 scale_of(const k_scales *s, size_t j)
{
    return _mm256_mul_ps(s->d, byte_of(s->scale[j / 4], j % 4));
}
SL_ALWAYS_INLINE __m256 minimum_of(const k_scales *s, size_t j)
{
    const __m256 m = _mm256_mul_ps(s->dmin, byte_of(s->minimum[j / 4], j % 4));
    return _mm256_xor_ps(m, _mm256_set1_ps(-0.0f));
}

SL_ALWAYS_INLINE size_t k_bytes(bool five)
{
    return five ? sizeof(sl_block_q5_k) : sizeof(sl_block_q4_k);
}

/* The transposed fifth bits of a super-block; nothing for Q4_K. */
SL_ALWAYS_INLINE void load_high(__m256i high[8], const uint8_t *const row[SL_PANEL_ROWS], size_t at, bool five)
{
    if (five)
        transpose_group(high, row, at + offsetof(sl_block_q5_k, high));
}

/* Group j of a super-block from v, the 32 bytes that it shares with its neighbour. */
SL_ALWAYS_INLINE void pick_group(__m256i q[8], const __m256i v[8], const __m256i high[8], size_t j, bool five)
{
    const __m128i nibble = _mm_cvtsi32_si128(j % 2 ? 4 : 0), bit = _mm_cvtsi32_si128((int)j);
    UNROLL
    for (size_t i = 0; i < 8; i++) {
        q[i] = _mm256_and_si256(_mm256_srl_epi16(v[i], nibble), _mm256_set1_epi8(15));
        if (five) {
            const __m256i b = _mm256_and_si256(_mm256_srl_epi16(high[i], bit), _mm256_set1_epi8(1));
            q[i] = _mm256_or_si256(q[i], _mm256_slli_epi16(b, 4));
        }
    }
}

SL_ALWAYS_INLINE void decode_k(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, bool five)
{
    const size_t at_q = five ? offsetof(sl_block_q5_k, q) : offsetof(sl_block_q4_k, q);
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    u_min_group *out = dst;
    for (size_t s = k0 / SL_SUPER; s < k1 / SL_SUPER; s++) {
        const size_t at = s * k_bytes(five);
        const k_scales scales = load_scales(row, at);
        __m256i v[8], high[8] = { 0 }, q[8];
        load_high(high, row, at, five);
        for (size_t pair = 0; pair < 8; pair += 2) {
            transpose_group(v, row, at + at_q + pair * 16);
            for (size_t j = pair; j < pair + 2; j++, out++) {
                pick_group(q, v, high, j, five);
                UNROLL
                for (size_t i = 0; i < 8; i++)
                    store_i(out->q[i], q[i]);
                _mm256_storeu_ps(out->d, scale_of(&scales, j));
                _mm256_storeu_ps(out->m, minimum_of(&scales, j));
            }
        }
    }
}

/* n tokens x 8 rows; `fetch` asks for the next 8 rows on the way. */
SL_ALWAYS_INLINE void narrow_tile_k(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x,
                                    size_t t, bool fetch, size_t n, bool five)
{
    const size_t at_q = five ? offsetof(sl_block_q5_k, q) : offsetof(sl_block_q4_k, q);
    const u_kind kind = { .five = five, .mins = true };
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    const uint8_t *ahead = row[0] + SL_PANEL_ROWS * w->row_bytes;
    __m256 acc[LINEAR_TILE];
    UNROLL
    for (size_t i = 0; i < n; i++)
        acc[i] = _mm256_setzero_ps();
    for (size_t s = 0, at = 0; s < x->K / SL_SUPER; s++, at += k_bytes(five)) {
        const k_scales scales = load_scales(row, at);
        __m256i v[8], high[8] = { 0 }, q[8];
        load_high(high, row, at, five);
        if (fetch)
            fetch_bytes(ahead + SL_PANEL_ROWS * at, SL_PANEL_ROWS * k_bytes(five));
        for (size_t pair = 0; pair < 8; pair += 2) {
            transpose_group(v, row, at + at_q + pair * 16);
            for (size_t j = pair; j < pair + 2; j++) {
                pick_group(q, v, high, j, five);
                add_group(acc, q, scale_of(&scales, j), minimum_of(&scales, j), act_group(x, t, 8 * s + j), n, kind);
            }
        }
    }
    const size_t rows = SL_MIN(SL_PANEL_ROWS, r1 - r0);
    UNROLL
    for (size_t i = 0; i < n; i++)
        store_rows(y + i * ldy, acc[i], rows);
}

/* ---- the table ------------------------------------------------------------------- */

static NARROW_BY_TILES(narrow_Q4_K, narrow_tile_k, false) static NARROW_BY_TILES(narrow_Q5_K, narrow_tile_k, true)

    static void decode_Q4_K(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    decode_k(dst, w, r0, r1, k0, k1, false);
}

static void decode_Q5_K(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    decode_k(dst, w, r0, r1, k0, k1, true);
}

void sl_linear_init_avx2_k(sl_kernels *k)
{
    const sl_panel q4_k = { .name = "u4 x8",
                            .needs = SL_NEED_Q8,
                            .narrow_needs = SL_NEED_Q8,
                            .group_bytes = sizeof(u_min_group),
                            .k_block = U_BLOCK,
                            .decode = decode_Q4_K,
                            .micro = sl_micro_u4_mins_avx2,
                            .narrow = narrow_Q4_K,
                            .narrow_max = NARROW_MAX };
    sl_panel q5_k = q4_k;
    q5_k.name = "u5 x8";
    q5_k.decode = decode_Q5_K;
    q5_k.micro = sl_micro_u5_mins_avx2;
    q5_k.narrow = narrow_Q5_K;
    k->panel[SL_FORMAT_Q4_K][SL_ACT_Q8] = q4_k;
    k->panel[SL_FORMAT_Q5_K][SL_ACT_Q8] = q5_k;
}
