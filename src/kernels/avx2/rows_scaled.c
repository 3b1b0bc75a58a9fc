/* rows_scaled.c - panel type f32 (see linear_f32.c): stored rows of 4 or 8 bits with scales beside them as f32, for
 * decode and for one token. The values are those of the reference in quant/: scale * (q - zero), one rounding. */
#include "kernels/avx2/scales_in.h"

#define GROUP_STEPS (SL_GROUP / 8)

/* Where a function takes `bits` and `zeros`, they are constants: it is inlined once for each. */

/* 8 rows: where they are, and what makes their numbers unsigned. */
typedef struct rows8 {
    const uint8_t *row[SL_PANEL_ROWS];
    scale_rows scales;
    __m256i turn;                             /* signed bytes: their highest bit, with 128 for zero */
    float d[SL_PANEL_ROWS], z[SL_PANEL_ROWS]; /* of the group at hand */
} rows8;

SL_ALWAYS_INLINE rows8 rows_begin(const sl_tensor *w, size_t r0, size_t r1, size_t k)
{
    rows8 x = { .scales = scale_rows_begin(w, r0, r1, k) };
    row_pointers(x.row, w, r0, r1);
    const bool is_signed = !w->scales.zero && !w->scales.offset;
    x.turn = _mm256_set1_epi8((char)(is_signed ? 0x80 : 0));
    for (size_t i = 0; i < SL_PANEL_ROWS; i++)
        x.z[i] = (float)(is_signed ? 128 : (int)w->scales.offset);
    return x;
}

SL_ALWAYS_INLINE void rows_at(rows8 *x, size_t k, bool zeros)
{
    if (k < x->scales.next)
        return;
    scale_rows_at(&x->scales, k, zeros);
    _mm256_storeu_ps(x->d, x->scales.d);
    if (zeros)
        _mm256_storeu_ps(x->z, zeros_as_floats(x->scales.z));
}

/* Columns k .. k+31 of row i, in 4 vectors. */
SL_ALWAYS_INLINE void load_values(__m256 b[GROUP_STEPS], const rows8 *x, size_t i, size_t k, unsigned bits)
{
    __m128i half[2];
    if (bits == 4) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(x->row[i] + k / 2));
        const __m128i low = _mm_set1_epi8(15);
        const __m128i even = _mm_and_si128(v, low), odd = _mm_and_si128(_mm_srli_epi16(v, 4), low);
        half[0] = _mm_unpacklo_epi8(even, odd);
        half[1] = _mm_unpackhi_epi8(even, odd);
    } else {
        const __m256i v = _mm256_xor_si256(load_i(x->row[i] + k), x->turn);
        half[0] = _mm256_castsi256_si128(v);
        half[1] = _mm256_extracti128_si256(v, 1);
    }
    const __m256 d = _mm256_broadcast_ss(&x->d[i]), z = _mm256_broadcast_ss(&x->z[i]);
    UNROLL
    for (size_t c = 0; c < GROUP_STEPS; c++) {
        const __m128i eight = c % 2 ? _mm_unpackhi_epi64(half[c / 2], half[c / 2]) : half[c / 2];
        b[c] = _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight)), z), d);
    }
}

SL_ALWAYS_INLINE void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, unsigned bits,
                             bool zeros)
{
    rows8 x = rows_begin(w, r0, r1, k0);
    float *out = dst;
    for (size_t k = k0; k < k1; k += SL_GROUP, out += SL_GROUP * SL_PANEL_ROWS) {
        rows_at(&x, k, zeros);
        for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
            __m256 b[GROUP_STEPS];
            load_values(b, &x, i, k, bits);
            UNROLL
            for (size_t c = 0; c < GROUP_STEPS; c++)
                _mm256_storeu_ps(out + (c * SL_PANEL_ROWS + i) * 8, b[c]);
        }
    }
}

/* One token, asking for later ones on the way. */
SL_ALWAYS_INLINE void narrow(float *y, const sl_tensor *w, size_t r0, size_t r1, const void *next, const sl_act *act,
                             size_t t, unsigned bits, bool zeros)
{
    for (size_t r = r0; r < r1; r += SL_PANEL_ROWS, y += SL_PANEL_ROWS) {
        rows8 x = rows_begin(w, r, r1, 0);
        const float *a = act->f32 + t * act->ldf;
        const onward ahead = onward_rows(x.row[0], w, r1, next);
        __m256 acc[SL_PANEL_ROWS];
        UNROLL
        for (size_t i = 0; i < SL_PANEL_ROWS; i++)
            acc[i] = _mm256_setzero_ps();
        for (size_t k = 0; k < act->K; k += SL_GROUP) {
            rows_at(&x, k, zeros);
            UNROLL
            for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
                __m256 b[GROUP_STEPS];
                load_values(b, &x, i, k, bits);
                UNROLL
                for (size_t c = 0; c < GROUP_STEPS; c++)
                    acc[i] = _mm256_fmadd_ps(b[c], _mm256_loadu_ps(a + k + 8 * c), acc[i]);
            }
            fetch_onward(&ahead, SL_PANEL_ROWS * k * bits / 8, SL_PANEL_ROWS * SL_GROUP * bits / 8);
        }
        store_some(y, reduce8(acc), SL_MIN(SL_PANEL_ROWS, r1 - r));
    }
}

#define FORMAT(id, bits, zeros)                                                                                        \
    static DECODE_WITH(decode_##id, decode, bits, zeros)                                                               \
    static void narrow_##id(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,          \
                            const sl_act *x, size_t t0, size_t t1)                                                     \
    {                                                                                                                  \
        (void)ldy, (void)t1;                                                                                           \
        narrow(y, w, r0, r1, next, x, t0, bits, zeros);                                                                \
    }
FORMAT(INT4, 4, false)
FORMAT(INT4_ZP, 4, true)
FORMAT(INT8, 8, false)
#undef FORMAT

static void set(sl_kernels *k, sl_format f, sl_panel_decode_fn *decode_fn, sl_panel_narrow_fn *narrow_fn)
{
    sl_panel *p = &k->panel[f][SL_ACT_F32];
    p->decode = decode_fn;
    p->narrow = narrow_fn;
    p->narrow_needs = SL_NEED_F32;
    p->narrow_max = 1;
}

void sl_linear_init_avx2_scaled(sl_kernels *k)
{
    set(k, SL_FORMAT_INT4, decode_INT4, narrow_INT4);
    set(k, SL_FORMAT_INT4_ZP, decode_INT4_ZP, narrow_INT4_ZP);
    set(k, SL_FORMAT_INT8, decode_INT8, narrow_INT8);
    set(k, SL_FORMAT_INT8_TOKEN, decode_INT8, narrow_INT8);
}
