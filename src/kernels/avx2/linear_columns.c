/* linear_columns.c - panel type f32 of floats that lie column by column (F32_T, F16_T, BF16_T): 8 rows of a column are
 * read where they are, 8 columns turned into pieces of rows. Without a form for few tokens: a panel serves them as
 * fast. */
#include "kernels/avx2/linear_in.h"

/* Where a function takes a format, it is a constant: it is inlined once for each. */

/* One column's number in each of the 8 rows. */
SL_ALWAYS_INLINE __m256 load_column(const uint8_t *const row[SL_PANEL_ROWS], size_t at, sl_format f)
{
    if (f == SL_FORMAT_F16_T)
        return halves(row, at);
    if (f == SL_FORMAT_BF16_T)
        return _mm256_castsi256_ps(_mm256_slli_epi32(
            _mm256_setr_epi32(sl_load_le16(row[0] + at), sl_load_le16(row[1] + at), sl_load_le16(row[2] + at),
                              sl_load_le16(row[3] + at), sl_load_le16(row[4] + at), sl_load_le16(row[5] + at),
                              sl_load_le16(row[6] + at), sl_load_le16(row[7] + at)),
            16));
    float v[SL_PANEL_ROWS];
    for (size_t i = 0; i < SL_PANEL_ROWS; i++)
        memcpy(&v[i], row[i] + at, sizeof v[i]);
    return _mm256_loadu_ps(v);
}

SL_ALWAYS_INLINE void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, sl_format f)
{
    const uint8_t *row[SL_PANEL_ROWS];
    row_pointers(row, w, r0, r1);
    float *out = dst;
    for (size_t k = k0; k < k1; k += 8, out += 8 * SL_PANEL_ROWS) {
        const size_t n = SL_MIN((size_t)8, k1 - k);
        __m256 v[8];
        UNROLL
        for (size_t j = 0; j < 8; j++)
            v[j] = j < n ? load_column(row, (k + j) * w->col_bytes, f) : _mm256_setzero_ps();
        transpose8(v);
        UNROLL
        for (size_t i = 0; i < SL_PANEL_ROWS; i++)
            _mm256_storeu_ps(out + i * 8, v[i]);
    }
}

#define FORMAT(id) static DECODE_WITH(decode_##id, decode, SL_FORMAT_##id)
FORMAT(F32_T)
FORMAT(F16_T)
FORMAT(BF16_T)
#undef FORMAT

void sl_linear_init_avx2_columns(sl_kernels *k)
{
    for (size_t act = 0; act < SL_ACT_COUNT; act++) {
        k->panel[SL_FORMAT_F32_T][act].decode = decode_F32_T;
        k->panel[SL_FORMAT_F16_T][act].decode = decode_F16_T;
        k->panel[SL_FORMAT_BF16_T][act].decode = decode_BF16_T;
    }
}
