/* linear_k.c - Q4_K and Q5_K with 8-bit activations, as panel types u4 and u5 with minima. */
#include "kernels/avx2/linear_few_in.h"

static_assert(offsetof(sl_block_q4_k, scale) == 4 && offsetof(sl_block_q5_k, scale) == 4, "both begin alike");

/* Scales and minima of one super-block of 8 rows. */
typedef struct k_scales {
    __m256 d, dmin;               /* dmin with its sign turned */
    __m256i scale[2], minimum[2]; /* byte j of a row's word: of group j, of group 4 + j */
} k_scales;

/* The super-blocks at `at`; how the 6-bit numbers are packed is in quant/q4_k.c. */
SL_ALWAYS_INLINE k_scales load_scales(const stored_rows *rows, size_t at)
{
    const __m256i six = _mm256_set1_epi8(63), four = _mm256_set1_epi8(15), two = _mm256_set1_epi8(0x30);
    __m256i v[4];
    load_dwords(v, rows, at);
    return (k_scales){
        .d = halves_of_words(_mm256_and_si256(v[0], _mm256_set1_epi32(0xffff))),
        .dmin = _mm256_xor_ps(halves_of_words(_mm256_srli_epi32(v[0], 16)), _mm256_set1_ps(-0.0f)),
        .scale = { _mm256_and_si256(v[1], six),
                   _mm256_or_si256(_mm256_and_si256(v[3], four), _mm256_and_si256(_mm256_srli_epi32(v[1], 2), two)) },
        .minimum = { _mm256_and_si256(v[2], six), _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(v[3], 4), four),
                                                                  _mm256_and_si256(_mm256_srli_epi32(v[2], 2), two)) },
    };
}

/* Byte j < 4 of each row's word, as a float; j is a constant. */
SL_ALWAYS_INLINE __m256 byte_of(__m256i words, size_t j)
{
    const __m256i b = j == 3 ? _mm256_srli_epi32(words, 24)
                             : _mm256_and_si256(_mm256_srli_epi32(words, (int)(8 * j)), _mm256_set1_epi32(255));
    return _mm256_cvtepi32_ps(b);
}

SL_ALWAYS_INLINE size_t k_bytes(bool five)
{
    return five ? sizeof(sl_block_q5_k) : sizeof(sl_block_q4_k);
}

/* The transposed fifth bits of a super-block; nothing for Q4_K. */
SL_ALWAYS_INLINE void load_high(__m256i high[8], const stored_rows *rows, size_t at, bool five)
{
    if (five)
        load_8_dwords(high, rows, at + offsetof(sl_block_q5_k, high));
}

/* Bring the fifth bits of the second half to where those of the first were. */
SL_ALWAYS_INLINE void next_high(__m256i high[8], bool five)
{
    if (!five)
        return;
    UNROLL
    for (size_t i = 0; i < 8; i++)
        high[i] = _mm256_srli_epi16(high[i], 4);
}

/* Group j < 4 of half a super-block, j a constant, from v, the 32 bytes that it shares with its neighbour. */
SL_ALWAYS_INLINE void pick_group(__m256i q[8], const __m256i v[8], const __m256i high[8], size_t j, bool five)
{
    UNROLL
    for (size_t i = 0; i < 8; i++) {
        q[i] = _mm256_and_si256(j % 2 ? _mm256_srli_epi16(v[i], 4) : v[i], _mm256_set1_epi8(15));
        if (five) {
            const __m256i fifth = _mm256_slli_epi16(high[i], (int)(4 - j));
            q[i] = _mm256_or_si256(q[i], _mm256_and_si256(fifth, _mm256_set1_epi8(16)));
        }
    }
}

SL_ALWAYS_INLINE size_t offset_of_q(bool five)
{
    return five ? offsetof(sl_block_q5_k, q) : offsetof(sl_block_q4_k, q);
}

SL_ALWAYS_INLINE void decode_k(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, bool five,
                               bool interleaved)
{
    const stored_rows rows = rows_stored(w, r0, r1, interleaved);
    u_offset_group *out = dst;
    for (size_t s = k0 / SL_SUPER; s < k1 / SL_SUPER; s++) {
        const size_t at = s * k_bytes(five);
        const k_scales scales = load_scales(&rows, at);
        __m256i v[8], high[8] = { 0 }, q[8];
        load_high(high, &rows, at, five);
        for (size_t half = 0; half < 2; half++, next_high(high, five)) {
            UNROLL
            for (size_t j = 0; j < 4; j++, out++) {
                if (j % 2 == 0)
                    load_8_dwords(v, &rows, at + offset_of_q(five) + half * 64 + j * 16);
                pick_group(q, v, high, j, five);
                UNROLL
                for (size_t i = 0; i < 8; i++)
                    store_i(out->q[i], q[i]);
                _mm256_storeu_ps(out->d, _mm256_mul_ps(scales.d, byte_of(scales.scale[half], j)));
                _mm256_storeu_ps(out->m, _mm256_mul_ps(scales.dmin, byte_of(scales.minimum[half], j)));
            }
        }
    }
}

/* n tokens x 8 rows, asking for later ones on the way. lanes: as in act_of. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                  const sl_act *x, size_t t, size_t n, const sl_lanes *lanes, bool five,
                                  bool interleaved)
{
    const u_kind kind = { .five = five, .offset = U_MINIMA };
    const stored_rows rows = rows_stored(w, r0, r1, interleaved);
    const onward ahead = onward_rows(rows.row[0], w, r1, next);
    __m256 acc[LINEAR_TILE_MAX];
    zero_tile(acc, n);
    for (size_t s = 0, at = 0; s < w->cols / SL_SUPER; s++, at += k_bytes(five)) {
        const k_scales scales = load_scales(&rows, at);
        __m256i v[8], high[8] = { 0 }, q[8];
        load_high(high, &rows, at, five);
        for (size_t half = 0; half < 2; half++, next_high(high, five)) {
            fetch_onward(&ahead, SL_PANEL_ROWS * at + half * (SL_PANEL_ROWS / 2 * k_bytes(five)),
                         SL_PANEL_ROWS / 2 * k_bytes(five));
            UNROLL
            for (size_t j = 0; j < 4; j++) {
                if (j % 2 == 0) {
                    load_8_dwords(v, &rows, at + offset_of_q(five) + half * 64 + j * 16);
                    if (!five && n < SL_LANES)
                        keep(v, 8);
                }
                const __m256 d = _mm256_mul_ps(scales.d, byte_of(scales.scale[half], j));
                const __m256 m = _mm256_mul_ps(scales.dmin, byte_of(scales.minimum[half], j));
                pick_group(q, v, high, j, five);
                add_group(acc, q, d, m, act_of(x, t, n, lanes, 8 * s + 4 * half + j), n, kind);
            }
        }
    }
    store_tile(y, ldy, acc, SL_MIN(SL_PANEL_ROWS, r1 - r0), n);
}

/* ---- few ------------------------------------------------------------------------- */

/* Group i of a row's super-block: the low or the high nibbles of 32 bytes, and bit i of each of 32 others. */
SL_ALWAYS_INLINE void load_row(uint8_t q[SL_GROUP], const uint8_t *block, size_t i, bool five)
{
    const __m128i nibble = _mm_cvtsi32_si128((int)(i % 2 * 4)), bit = _mm_cvtsi32_si128((int)i);
    const __m256i stored = load_i(block + offset_of_q(five) + i / 2 * 32);
    __m256i v = _mm256_and_si256(_mm256_srl_epi16(stored, nibble), _mm256_set1_epi8(15));
    if (five) {
        const __m256i high = _mm256_srl_epi16(load_i(block + offsetof(sl_block_q5_k, high)), bit);
        v = _mm256_or_si256(v, _mm256_slli_epi16(_mm256_and_si256(high, _mm256_set1_epi8(1)), 4));
    }
    store_i(q, v);
}

SL_ALWAYS_INLINE void load_row_scales(few_weights *out, const stored_rows *rows, size_t at, bool five)
{
    const k_scales scales = load_scales(rows, at);
    (void)five;
    UNROLL
    for (size_t j = 0; j < SL_SUPER / SL_GROUP; j++) {
        _mm256_storeu_ps(out[j].d, _mm256_mul_ps(scales.d, byte_of(scales.scale[j / 4], j % 4)));
        _mm256_storeu_ps(out[j].m, _mm256_mul_ps(scales.dmin, byte_of(scales.minimum[j / 4], j % 4)));
    }
}

/* ---- the table ------------------------------------------------------------------- */

#define FORMAT(id, five, interleaved)                                                                                  \
    static DECODE_WITH(decode_##id, decode_k, five, interleaved)                                                       \
    static NARROW_BY_ROWS(narrow_##id, narrow_tile, NULL, five, interleaved)
#define FEW(id, five)                                                                                                  \
    static FEW_BY_ROWS(few_##id, load_row, load_row_scales, ((u_kind){ five, U_MINIMA }), SL_SUPER / SL_GROUP,         \
                       k_bytes(five), five)
FORMAT(Q4_K, false, false)
FORMAT(Q4_K_R8, false, true)
FORMAT(Q5_K, true, false)
FORMAT(Q5_K_R8, true, true)
FEW(Q4_K, false)
FEW(Q5_K, true)
static FEW_BY_TILES(few_Q4_K_R8, narrow_tile, false, true) /* of Q5_K, panels are faster: 8 more registers wait */
#undef FORMAT
#undef FEW

void sl_linear_init_avx2_k(sl_kernels *k)
{
    const u_kind four = { .offset = U_MINIMA }, five = { .five = true, .offset = U_MINIMA };
    k->panel[SL_FORMAT_Q4_K][SL_ACT_Q8] = u_panel(four, decode_Q4_K, narrow_Q4_K, LINEAR_TILE, few_Q4_K);
    k->panel[SL_FORMAT_Q4_K_R8][SL_ACT_Q8] = u_panel(four, decode_Q4_K_R8, narrow_Q4_K_R8, LINEAR_TILE, few_Q4_K_R8);
    k->panel[SL_FORMAT_Q5_K][SL_ACT_Q8] = u_panel(five, decode_Q5_K, narrow_Q5_K, LINEAR_TILE, few_Q5_K);
    k->panel[SL_FORMAT_Q4_K][SL_ACT_Q8].streams = k->panel[SL_FORMAT_Q5_K][SL_ACT_Q8].streams = SL_PANEL_ROWS;
    k->panel[SL_FORMAT_Q5_K_R8][SL_ACT_Q8] = u_panel(five, decode_Q5_K_R8, narrow_Q5_K_R8, LINEAR_TILE, NULL);
}
