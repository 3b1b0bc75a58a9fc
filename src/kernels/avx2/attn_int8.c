/* attn_int8.c - scores of int8 keys: whole numbers, so the order of a sum is free.
 *
 * A product of two signed bytes is |k| times q with the sign of k, since vpmaddubsw wants one operand
 * unsigned; a pair of them is at most 2 * 127 * 127 = 32,258, which 16 bits hold. Each pair is widened
 * to 32 bits before anything is added to it. */
#include "kernels/avx2/attn_in.h"

#include "base/num.h"

enum { ROW_BLOCK = 4 };

/* acc + the sums of four products, lane by lane. */
SL_ALWAYS_INLINE __m256i dot4(__m256i acc, __m256i abs_k, __m256i k, __m256i q)
{
    const __m256i pairs = _mm256_maddubs_epi16(abs_k, _mm256_sign_epi8(q, k));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/* ---- grouped: a lane is a token ---------------------------------------------------- */

/* s[r][j .. j + 8 vecs) for rows from r0 on; j counts from slot `at`. */
SL_ALWAYS_INLINE void tile(size_t rows, size_t vecs, float *s, size_t lds, const sl_attn_query *q, size_t r0,
                           const sl_kv_head *k, size_t at, size_t j)
{
    __m256i acc[ROW_BLOCK][4];
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vecs; v++)
            acc[r][v] = _mm256_setzero_si256();
    const size_t groups = sl_div_up(k->C, 4);
    const int32_t *group = (const int32_t *)k->data + (at + j) * groups; /* of the first 8 tokens */
    const int32_t *next = k->next && r0 == 0 ? (const int32_t *)k->next + j * groups : NULL;
    const int8_t *query = q->q + r0 * q->ldq;
    if (next)
        fetch_next_scales(k, j, 8 * vecs);
    for (size_t c = 0; c < k->C; c += 4, group += SL_KV_BLOCK) {
        for (size_t x = 0; next && x < 8 * vecs; x += 16)
            sl_cpu_prefetch(next + c / 4 * 8 * vecs + x);
        __m256i a[ROW_BLOCK];
        for (size_t r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, query + r * q->ldq + c, sizeof four);
            a[r] = _mm256_set1_epi32(four);
        }
        for (size_t v = 0; v < vecs; v++) {
            const __m256i b = load_i(group + v * SL_KV_BLOCK * groups);
            const __m256i abs_b = _mm256_abs_epi8(b);
            for (size_t r = 0; r < rows; r++)
                acc[r][v] = dot4(acc[r][v], abs_b, b, a[r]);
        }
    }
    for (size_t v = 0; v < vecs; v++) {
        const __m256 scale = _mm256_loadu_ps(k->scale + at + j + 8 * v);
        for (size_t r = 0; r < rows; r++) {
            const __m256 sum = _mm256_mul_ps(_mm256_cvtepi32_ps(acc[r][v]), scale);
            _mm256_storeu_ps(s + (r0 + r) * lds + j + 8 * v, _mm256_mul_ps(sum, _mm256_set1_ps(q->d[r0 + r])));
        }
    }
}

SL_ALWAYS_INLINE void strip(size_t rows, float *s, size_t lds, const sl_attn_query *q, size_t r0, const sl_kv_head *k,
                            size_t at, size_t width)
{
    size_t j = 0;
    if (rows <= 2)
        for (; j + 32 <= width; j += 32)
            tile(rows, 4, s, lds, q, r0, k, at, j);
    for (; j < width; j += 16)
        tile(rows, 2, s, lds, q, r0, k, at, j);
}

void sl_attn_scores_int8_avx2(float *s, size_t lds, const sl_attn_query *q, size_t R, const sl_kv_head *k, size_t at,
                              size_t n)
{
    const size_t width = sl_round_up(n, 16);
    const row_blocks blocks = row_blocks_of(R, ROW_BLOCK);
    for (size_t i = 0, r = 0, rows; r < R; i++, r += rows) {
        rows = rows_of_block(blocks, i);
        switch (rows) {
        case 1:
            strip(1, s, lds, q, r, k, at, width);
            break;
        case 2:
            strip(2, s, lds, q, r, k, at, width);
            break;
        case 3:
            strip(3, s, lds, q, r, k, at, width);
            break;
        default:
            strip(ROW_BLOCK, s, lds, q, r, k, at, width);
        }
    }
}

/* ---- token layout: a lane is a channel, modulo 8 ------------------------------------ */

/* Channels beyond C are what follows in the page, times the zeros that a query is padded with. */
void sl_attn_scores_token_int8_avx2(float *s, size_t lds, const sl_attn_query *q, size_t R, const sl_kv_head *k,
                                    size_t at, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        const int8_t *key = (const int8_t *)k->data + (at + j) * k->C;
        for (size_t r = 0; r < R; r++) {
            __m256i acc = _mm256_setzero_si256();
            for (size_t c = 0; c < k->C; c += 32) {
                const __m256i b = load_i(key + c);
                const __m256i a = load_i(q->q + r * q->ldq + c);
                acc = dot4(acc, _mm256_abs_epi8(b), b, a);
            }
            s[r * lds + j] = (float)hsum8_epi32(acc) * k->scale[at + j] * q->d[r];
        }
    }
}
