/* rows_any.c - panel type f32 (see linear_f32.c): numbers of 4 or 8 bits whose columns belong to groups of any kind
 * (INT4_ANY, INT8_ANY). A row's scales and zero points are made floats first, from which each column then takes its
 * own. The values are those of the reference in quant/: scale * (q - zero), one rounding. */
#include "kernels/avx2/linear_in.h"
#include "quant/scales.h"

#define GROUPS_MAX 2048 /* of a row, on the stack; more are left to the reference */

/* Where a function takes `bits`, it is a constant: it is inlined once for each. */

typedef struct row_scales {
    float d[GROUPS_MAX], z[GROUPS_MAX];
} row_scales;

static void load_scales(float *d, const sl_scales *s, size_t r, size_t n)
{
    const size_t row = sl_scales_row(s, r) / s->rows;
    const uint8_t *p = (const uint8_t *)s->scale + row * s->row_bytes;
    const bool words = (s->type == SL_SCALE_F16 || s->type == SL_SCALE_BF16) && s->col_bytes == sizeof(uint16_t);
    size_t g = 0;
    for (; words && g + 8 <= n; g += 8) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + g * sizeof(uint16_t)));
        _mm256_storeu_ps(d + g, s->type == SL_SCALE_F16
                                    ? _mm256_cvtph_ps(v)
                                    : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16)));
    }
    for (; g < n; g++)
        d[g] = sl_scales_at(s, r, g);
}

SL_ALWAYS_INLINE void load_zeros(float *z, const sl_scales *s, size_t r, size_t n, unsigned bits)
{
    const size_t row = sl_scales_row(s, r), in_word = 32 / bits;
    const uint8_t *p = (const uint8_t *)s->zero + row / in_word * s->zero_row_bytes;
    const __m128i shift = _mm_cvtsi32_si128((int)(row % in_word * bits));
    const __m256i mask = _mm256_set1_epi32((1 << bits) - 1), offset = _mm256_set1_epi32((int)s->offset);
    size_t g = 0;
    for (; s->zero_col_bytes == sizeof(uint32_t) && g + 8 <= n; g += 8) {
        const __m256i v = _mm256_and_si256(_mm256_srl_epi32(load_i(p + g * sizeof(uint32_t)), shift), mask);
        _mm256_storeu_ps(z + g, _mm256_cvtepi32_ps(_mm256_add_epi32(v, offset)));
    }
    for (; g < n; g++)
        z[g] = (float)sl_scales_zero(s, r, g, bits);
}

/* The groups of columns k .. k+n, n <= 8. */
SL_ALWAYS_INLINE __m256i groups_at(const sl_scales *s, size_t k, size_t n)
{
    if (s->group_of)
        return _mm256_maskload_epi32((const int *)s->group_of + k, lanes8(n));
    int g[8] = { 0 };
    size_t now = k / s->group, left = s->group - k % s->group;
    for (size_t i = 0; i < n; i++) {
        g[i] = (int)now;
        if (--left == 0) {
            left = s->group;
            now++;
        }
    }
    return load_i(g);
}

/* The stored numbers of columns k .. k+n, n <= 8, as unsigned ones. */
SL_ALWAYS_INLINE __m256 numbers_at(const uint8_t *row, size_t k, size_t n, uint8_t turn, unsigned bits)
{
    if (bits == 4) {
        const __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        return _mm256_cvtepi32_ps(
            _mm256_and_si256(_mm256_srlv_epi32(broadcast4(row + k / 2), shift), _mm256_set1_epi32(15)));
    }
    uint64_t v = 0;
    memcpy(&v, row + k, n);
    const __m128i bytes = _mm_xor_si128(_mm_cvtsi64_si128((int64_t)v), _mm_set1_epi8((char)turn));
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

SL_ALWAYS_INLINE void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, unsigned bits)
{
    const sl_scales *s = &w->scales;
    const size_t n_groups = s->col_bytes ? sl_div_up(w->cols, s->group) : 1;
    if (n_groups > GROUPS_MAX) {
        sl_decode_any_avx2(dst, w, r0, r1, k0, k1);
        return;
    }
    const bool is_signed = bits == 8 && !s->zero && !s->offset;
    const uint8_t turn = is_signed ? 0x80 : 0;
    for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
        row_scales x;
        const size_t r = SL_MIN(r0 + i, r1 - 1);
        const uint8_t *row = (const uint8_t *)w->data + r * w->row_bytes;
        float *out = (float *)dst + 8 * i;
        load_scales(x.d, s, r, n_groups);
        if (s->zero)
            load_zeros(x.z, s, r, n_groups, bits);
        const __m256 offset = _mm256_set1_ps((float)(is_signed ? 128 : (int)s->offset));
        for (size_t k = k0; k < k1; k += 8, out += 8 * SL_PANEL_ROWS) {
            const size_t n = SL_MIN((size_t)8, k1 - k);
            const __m256i g = n_groups > 1 ? groups_at(s, k, n) : _mm256_setzero_si256();
            const __m256 z = s->zero ? _mm256_i32gather_ps(x.z, g, 4) : offset;
            const __m256 v =
                _mm256_mul_ps(_mm256_sub_ps(numbers_at(row, k, n, turn, bits), z), _mm256_i32gather_ps(x.d, g, 4));
            _mm256_storeu_ps(out, _mm256_and_ps(v, _mm256_castsi256_ps(lanes8(n)))); /* zeros behind the last column */
        }
    }
}

static DECODE_WITH(decode_INT4_ANY, decode, 4)

static DECODE_WITH(decode_INT8_ANY, decode, 8)

void sl_linear_init_avx2_any(sl_kernels *k)
{
    for (size_t act = 0; act < SL_ACT_COUNT; act++) {
        k->panel[SL_FORMAT_INT4_ANY][act].decode = decode_INT4_ANY;
        k->panel[SL_FORMAT_INT8_ANY][act].decode = decode_INT8_ANY;
    }
}
