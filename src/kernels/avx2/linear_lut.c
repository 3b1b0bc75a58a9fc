/* linear_lut.c - panel type s8: IQ4_NL, IQ4_XS and MXFP4, whose nibbles choose among 16 signed bytes. What the bits
 * mean is in quant/iq4.c and quant/fp4.c. */
#include "kernels/avx2/linear_s8_in.h"

/* Where a function takes a format, it is a constant: it is inlined once for each. */

/* Groups of a block, its bytes, and where the nibbles of group j of the block are. */
SL_ALWAYS_INLINE size_t groups_of(sl_format f)
{
    return sl_format_apart(f) == SL_FORMAT_IQ4_XS ? SL_SUPER / SL_GROUP : 1;
}
SL_ALWAYS_INLINE size_t bytes_of(sl_format f)
{
    const sl_format a = sl_format_apart(f);
    return a == SL_FORMAT_IQ4_XS   ? sizeof(sl_block_iq4_xs)
           : a == SL_FORMAT_IQ4_NL ? sizeof(sl_block_iq4_nl)
                                   : sizeof(sl_block_mxfp4);
}
SL_ALWAYS_INLINE size_t offset_of(sl_format f, size_t j)
{
    const sl_format a = sl_format_apart(f);
    return a == SL_FORMAT_IQ4_XS   ? offsetof(sl_block_iq4_xs, q) + j * (SL_GROUP / 2)
           : a == SL_FORMAT_IQ4_NL ? offsetof(sl_block_iq4_nl, q)
                                   : offsetof(sl_block_mxfp4, q);
}

/* Scales of the blocks at `at`: of group j alone where they differ. */
SL_ALWAYS_INLINE __m256 scale_of(const stored_rows *rows, size_t at, size_t j, sl_format f)
{
    if (f == SL_FORMAT_MXFP4)
        return powers(rows->row, at);
    if (sl_format_apart(f) == SL_FORMAT_IQ4_NL)
        return load_halves(rows, at);
    __m256i v[4]; /* d and the high bits; the low bits; nibbles */
    load_dwords(v, rows, at);
    const __m256 d = halves_of_words(_mm256_and_si256(v[0], _mm256_set1_epi32(0xffff)));
    const __m128i low = _mm_cvtsi32_si128((int)(4 * j)), high = _mm_cvtsi32_si128((int)(16 + 2 * j));
    const __m256i l = _mm256_and_si256(_mm256_srl_epi32(v[1], low), _mm256_set1_epi32(15));
    const __m256i h = _mm256_and_si256(_mm256_srl_epi32(v[0], high), _mm256_set1_epi32(3));
    const __m256i scale = _mm256_sub_epi32(_mm256_or_si256(l, _mm256_slli_epi32(h, 4)), _mm256_set1_epi32(32));
    return _mm256_mul_ps(d, _mm256_cvtepi32_ps(scale));
}

/* Signed bytes of group j of the blocks at `at`. */
SL_ALWAYS_INLINE void load_group(__m256i q[8], const stored_rows *rows, size_t at, size_t j, sl_format f)
{
    const __m256i table = table_of(f), four = _mm256_set1_epi8(15);
    __m256i v[4];
    load_dwords(v, rows, at + offset_of(f, j));
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        q[i] = _mm256_shuffle_epi8(table, _mm256_and_si256(v[i], four));
        q[i + 4] = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(v[i], 4), four));
    }
}

SL_ALWAYS_INLINE void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, sl_format f)
{
    const stored_rows rows = rows_stored(w, r0, r1, sl_format_is_interleaved(f));
    s8_group *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, out++) {
        const size_t at = g / groups_of(f) * bytes_of(f), j = g % groups_of(f);
        __m256i q[8];
        load_group(q, &rows, at, j, f);
        UNROLL
        for (size_t i = 0; i < 8; i++)
            store_i(out->q[i], q[i]);
        _mm256_storeu_ps(out->d, scale_of(&rows, at, j, f));
    }
}

/* n tokens x 8 rows, asking for later ones on the way. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                  const sl_act *x, size_t t, size_t n, sl_format f)
{
    const stored_rows rows = rows_stored(w, r0, r1, sl_format_is_interleaved(f));
    const onward ahead = onward_rows(rows.row[0], w, r1, next);
    __m256 acc[LINEAR_TILE];
    zero_tile(acc, n);
    for (size_t g = 0, at = 0; g < x->G; at += bytes_of(f)) {
        fetch_onward(&ahead, SL_PANEL_ROWS * at, SL_PANEL_ROWS * bytes_of(f));
        for (size_t j = 0; j < groups_of(f); j++, g++) {
            __m256i q[8];
            const __m256 d = scale_of(&rows, at, j, f);
            load_group(q, &rows, at, j, f);
            add_bytes(acc, q, d, act_group(x, t, g), n);
        }
    }
    store_tile(y, ldy, acc, SL_MIN(SL_PANEL_ROWS, r1 - r0), n);
}

/* ---- the table ----------------------------------------------------------------- */

#define FORMAT(id)                                                                                                     \
    static DECODE_WITH(decode_##id, decode, SL_FORMAT_##id)                                                            \
    static NARROW_BY_ROWS(narrow_##id, narrow_tile, SL_FORMAT_##id)
FORMAT(IQ4_NL)
FORMAT(IQ4_NL_R8)
FORMAT(IQ4_XS)
FORMAT(IQ4_XS_R8)
FORMAT(MXFP4)
#undef FORMAT

void sl_linear_init_avx2_lut(sl_kernels *k)
{
    k->panel[SL_FORMAT_IQ4_NL][SL_ACT_Q8] = s8_panel(decode_IQ4_NL, narrow_IQ4_NL);
    k->panel[SL_FORMAT_IQ4_NL_R8][SL_ACT_Q8] = s8_panel(decode_IQ4_NL_R8, narrow_IQ4_NL_R8);
    k->panel[SL_FORMAT_IQ4_XS][SL_ACT_Q8] = s8_panel(decode_IQ4_XS, narrow_IQ4_XS);
    k->panel[SL_FORMAT_IQ4_XS_R8][SL_ACT_Q8] = s8_panel(decode_IQ4_XS_R8, narrow_IQ4_XS_R8);
    k->panel[SL_FORMAT_MXFP4][SL_ACT_Q8] = s8_panel(decode_MXFP4, narrow_MXFP4);
}
