/* attn_in.h - how pages are read: 8 numbers of any type as f32, tails included; how rows are cut into blocks. */
#ifndef SL_KERNELS_AVX2_ATTN_IN_H
#define SL_KERNELS_AVX2_ATTN_IN_H

#include <assert.h>
#include "base/num.h"
#include "kernels/avx2/avx2_in.h"

/* How b lies in memory: rows of x, one per k; PAIR: one per two k, these two side by side. */
typedef enum b_kind { B_F32, B_F16, B_BF16, B_BF16_PAIR, B_S8 } b_kind;

typedef struct b_view {
    const uint8_t *data; /* b[0][0] */
    size_t ld;           /* distance of rows, in x */
    size_t block;        /* distance of 8 x, which lie side by side, from the next 8 */
    const uint8_t *next; /* b[0][0] of what is read after this one; NULL: unknown, or taken care of */
} b_view;

SL_ALWAYS_INLINE size_t x_bytes(b_kind kind)
{
    return kind == B_F32 || kind == B_BF16_PAIR ? 4 : kind == B_S8 ? 1 : 2;
}

/* The lanes of a tail of 1..7 x; halves are loaded two at a time, so their number is even. Bytes
 * are loaded past the tail, which a page allows, and their lanes dropped. */
typedef struct tail_mask {
    __m256i m8;
    __m128i m4;
} tail_mask;

static inline tail_mask tail_of(size_t n)
{
    return (tail_mask){ lanes8(n), lanes4(n / 2) };
}

/* Ask for the scales of tokens from .. from+n of the int8 page that is read next: they lie behind its numbers. */
SL_ALWAYS_INLINE void fetch_next_scales(const sl_kv_head *h, size_t from, size_t n)
{
    if (!h->next)
        return;
    const char *scale = (const char *)h->next + (h->C + 3) / 4 * 4 * h->P + from * sizeof(float);
    sl_cpu_prefetch_bytes(scale, n * sizeof(float));
}

/* b[k][x .. x+8) as f32, x a multiple of 8. odd: k is odd. m: NULL for all lanes. */
SL_ALWAYS_INLINE __m256 load8(b_kind kind, const b_view *b, size_t k, bool odd, size_t x, const tail_mask *m)
{
    const size_t row = kind == B_BF16_PAIR ? k / 2 : k;
    const uint8_t *p = b->data + (row * b->ld + x / SL_KV_BLOCK * b->block) * x_bytes(kind);
    if (kind == B_F32)
        return m ? _mm256_maskload_ps((const float *)p, m->m8) : _mm256_loadu_ps((const float *)p);
    if (kind == B_BF16_PAIR) {
        const __m256i v = load_i(p);
        return _mm256_castsi256_ps(odd ? _mm256_and_si256(v, _mm256_set1_epi32((int)0xffff0000u))
                                       : _mm256_slli_epi32(v, 16));
    }
    if (kind == B_S8)
        return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
    const __m128i h = m ? _mm_maskload_epi32((const int *)p, m->m4) : _mm_loadu_si128((const __m128i *)p);
    return kind == B_F16 ? _mm256_cvtph_ps(h) : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

/* R > 0 rows in blocks of at most `most`, all of about the same size, since small ones are slow: the first `more` have
 * a row more. */
typedef struct row_blocks {
    size_t rows, more;
} row_blocks;

static inline row_blocks row_blocks_of(size_t R, size_t most)
{
    assert(R > 0);
    const size_t n = sl_div_up(R, most);
    return (row_blocks){ R / n, R % n };
}

static inline size_t rows_of_block(row_blocks b, size_t i)
{
    return b.rows + (i < b.more);
}

#endif
