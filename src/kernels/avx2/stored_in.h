/* stored_in.h - 8 rows of weights as they are stored, in registers: element j of a vector belongs to row j.
 *
 * Rows one after another are read through pointers, so that a row past the last repeats it and costs no branch, and are
 * turned; interleaved ones (quant/interleave.h) lie as they are wanted. */
#ifndef SL_KERNELS_AVX2_STORED_IN_H
#define SL_KERNELS_AVX2_STORED_IN_H

#include <assert.h>
#include "base/num.h"
#include "kernels/avx2/avx2_in.h"
#include "quant/interleave.h"

/* Take sums in the order as written: left alone, compilers reorder integer sums of unrolled
 * loops into trees, whose many partial sums go through the stack. */
#define IN_ORDER(v) __asm__("" : "+x"(v))

/* ---- one after another ------------------------------------------------------------ */

SL_ALWAYS_INLINE void row_pointers(const uint8_t *row[SL_PANEL_ROWS], const sl_tensor *w, size_t r0, size_t r1)
{
    for (size_t i = 0; i < SL_PANEL_ROWS; i++)
        row[i] = (const uint8_t *)w->data + SL_MIN(r0 + i, r1 - 1) * w->row_bytes;
}

/* v[i] = dword i of the 16 bytes at `at` of each row. */
SL_ALWAYS_INLINE void transpose_dwords(__m256i v[4], const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    __m256i a[4];
    for (size_t i = 0; i < 4; i++) {
        const __m128i lo = _mm_loadu_si128((const __m128i *)(const void *)(row[i] + at));
        const __m128i hi = _mm_loadu_si128((const __m128i *)(const void *)(row[i + 4] + at));
        a[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(lo), hi, 1);
    }
    const __m256i b0 = _mm256_unpacklo_epi32(a[0], a[1]), b1 = _mm256_unpackhi_epi32(a[0], a[1]);
    const __m256i b2 = _mm256_unpacklo_epi32(a[2], a[3]), b3 = _mm256_unpackhi_epi32(a[2], a[3]);
    v[0] = _mm256_unpacklo_epi64(b0, b2);
    v[1] = _mm256_unpackhi_epi64(b0, b2);
    v[2] = _mm256_unpacklo_epi64(b1, b3);
    v[3] = _mm256_unpackhi_epi64(b1, b3);
}

/* The 32 bytes at `at` of 8 rows: v[i] holds for each row the bytes 4i .. 4i+3. */
SL_ALWAYS_INLINE void transpose_group(__m256i v[8], const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    transpose_dwords(v, row, at);
    transpose_dwords(v + 4, row, at + 16);
}

/* The 2 bytes at `at` of each row. */
SL_ALWAYS_INLINE __m128i words(const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    __m128i h = _mm_cvtsi32_si128(sl_load_le16(row[0] + at)), i = _mm_cvtsi32_si128(sl_load_le16(row[4] + at));
    h = _mm_insert_epi16(h, sl_load_le16(row[1] + at), 1);
    i = _mm_insert_epi16(i, sl_load_le16(row[5] + at), 1);
    h = _mm_insert_epi16(h, sl_load_le16(row[2] + at), 2);
    i = _mm_insert_epi16(i, sl_load_le16(row[6] + at), 2);
    h = _mm_insert_epi16(h, sl_load_le16(row[3] + at), 3);
    i = _mm_insert_epi16(i, sl_load_le16(row[7] + at), 3);
    return _mm_unpacklo_epi64(h, i);
}

/* The 4 bytes at `at` of each row. */
SL_ALWAYS_INLINE __m256i dwords(const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    return _mm256_setr_epi32((int)sl_load_le32(row[0] + at), (int)sl_load_le32(row[1] + at),
                             (int)sl_load_le32(row[2] + at), (int)sl_load_le32(row[3] + at),
                             (int)sl_load_le32(row[4] + at), (int)sl_load_le32(row[5] + at),
                             (int)sl_load_le32(row[6] + at), (int)sl_load_le32(row[7] + at));
}

/* The half-float at `at` of each row. */
SL_ALWAYS_INLINE __m256 halves(const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    return _mm256_cvtph_ps(words(row, at));
}

/* ---- either way -------------------------------------------------------------------- */

typedef struct stored_rows {
    const uint8_t *row[SL_PANEL_ROWS]; /* interleaved: the first says where all of them begin */
    bool interleaved;                  /* a constant where these functions are inlined */
} stored_rows;

SL_ALWAYS_INLINE stored_rows rows_stored(const sl_tensor *w, size_t r0, size_t r1, bool interleaved)
{
    stored_rows s = { .interleaved = interleaved };
    if (interleaved)
        s.row[0] = (const uint8_t *)w->data + r0 * w->row_bytes;
    else
        row_pointers(s.row, w, r0, r1);
    assert(!interleaved || (r0 % SL_PANEL_ROWS == 0 && r1 % SL_PANEL_ROWS == 0));
    return s;
}

/* Those of `panels` times 8 rows from r0 on, a constant; more than one are interleaved. */
SL_ALWAYS_INLINE void panels_stored(stored_rows *s, const sl_tensor *w, size_t r0, size_t r1, bool interleaved,
                                    size_t panels)
{
    UNROLL
    for (size_t p = 0; p < panels; p++)
        s[p] = rows_stored(w, r0 + p * SL_PANEL_ROWS, r1, interleaved);
}

/* Dwords `at` bytes into the rows, one after another. */
SL_ALWAYS_INLINE void load_dwords(__m256i v[4], const stored_rows *s, size_t at)
{
    if (!s->interleaved) {
        transpose_dwords(v, s->row, at);
        return;
    }
    for (size_t i = 0; i < 4; i++)
        v[i] = load_i(s->row[0] + SL_PANEL_ROWS * (at + 4 * i));
}

/* Left alone, compilers load again what they use again, and loads are what limits single tokens. For kernels that have
 * registers left. */
SL_ALWAYS_INLINE void keep(__m256i *v, size_t n)
{
    UNROLL
    for (size_t i = 0; i < n; i++)
        IN_ORDER(v[i]);
}

SL_ALWAYS_INLINE void load_8_dwords(__m256i v[8], const stored_rows *s, size_t at)
{
    load_dwords(v, s, at);
    load_dwords(v + 4, s, at + 16);
}

SL_ALWAYS_INLINE __m256i load_dword(const stored_rows *s, size_t at)
{
    if (!s->interleaved)
        return dwords(s->row, at);
    return load_i(s->row[0] + SL_PANEL_ROWS * at);
}

/* Half floats that are what is left over of a block's words. */
SL_ALWAYS_INLINE __m256 load_halves(const stored_rows *s, size_t at)
{
    if (!s->interleaved)
        return halves(s->row, at);
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(s->row[0] + SL_PANEL_ROWS * at)));
}

/* The lower half float of each dword; the upper half is zeros. */
SL_ALWAYS_INLINE __m256 halves_of_words(__m256i v)
{
    return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

/* Two half floats that are one word. */
SL_ALWAYS_INLINE void load_2_halves(__m256 *first, __m256 *second, const stored_rows *s, size_t at)
{
    if (!s->interleaved) {
        *first = halves(s->row, at);
        *second = halves(s->row, at + sizeof(uint16_t));
        return;
    }
    const __m256i v = load_dword(s, at);
    *first = halves_of_words(_mm256_and_si256(v, _mm256_set1_epi32(0xffff)));
    *second = halves_of_words(_mm256_srli_epi32(v, 16));
}

#endif
