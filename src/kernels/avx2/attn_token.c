/* attn_token.c - scores of keys in the token layout, [P][C]: lanes are channels modulo 8, reduced
 * once at the end of each sum. Kept to compare the layouts; the grouped one has no reductions. */
#include "kernels/avx2/attn_in.h"

#include "base/num.h"

enum { ROW_BLOCK = 4, TOKENS = 2 };

SL_ALWAYS_INLINE void step(b_kind kind, size_t rows, size_t tokens, __m256 acc[ROW_BLOCK][TOKENS], const float *q,
                           size_t ldq, const b_view *b, size_t j, size_t c, const tail_mask *m)
{
    __m256 key[TOKENS];
    for (size_t t = 0; t < tokens; t++) {
        if (b->next)
            sl_cpu_prefetch((const char *)b->next + ((j + t) * b->ld + c) * x_bytes(kind));
        key[t] = load8(kind, b, j + t, false, c, m);
    }
    for (size_t r = 0; r < rows; r++) {
        const __m256 a = m ? _mm256_maskload_ps(q + r * ldq + c, m->m8) : _mm256_loadu_ps(q + r * ldq + c);
        for (size_t t = 0; t < tokens; t++)
            acc[r][t] = _mm256_fmadd_ps(a, key[t], acc[r][t]);
    }
}

SL_ALWAYS_INLINE void tile(b_kind kind, size_t rows, size_t tokens, float *s, size_t lds, const float *q, size_t ldq,
                           const b_view *b, size_t j, size_t C)
{
    __m256 acc[ROW_BLOCK][TOKENS];
    for (size_t r = 0; r < rows; r++)
        for (size_t t = 0; t < tokens; t++)
            acc[r][t] = _mm256_setzero_ps();
    size_t c = 0;
    for (; c + 8 <= C; c += 8)
        step(kind, rows, tokens, acc, q, ldq, b, j, c, NULL);
    if (c < C) {
        const tail_mask m = tail_of(C - c);
        step(kind, rows, tokens, acc, q, ldq, b, j, c, &m);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t t = 0; t < tokens; t++)
            s[r * lds + j + t] = hsum8(acc[r][t]);
}

SL_ALWAYS_INLINE void rows_of(b_kind kind, size_t rows, float *s, size_t lds, const float *q, size_t ldq,
                              const b_view *b, size_t n, size_t C)
{
    size_t j = 0;
    for (; j + TOKENS <= n; j += TOKENS)
        tile(kind, rows, TOKENS, s, lds, q, ldq, b, j, C);
    if (j < n)
        tile(kind, rows, 1, s, lds, q, ldq, b, j, C);
}

SL_ALWAYS_INLINE void scores(b_kind kind, float *s, size_t lds, const sl_attn_query *q, size_t R, const sl_kv_head *k,
                             size_t at, size_t n)
{
    const b_view b = { (const uint8_t *)k->data + at * k->C * x_bytes(kind), k->C, SL_KV_BLOCK, k->next };
    size_t r = 0;
    for (; r + ROW_BLOCK <= R; r += ROW_BLOCK)
        rows_of(kind, ROW_BLOCK, s + r * lds, lds, q->x + r * q->ldx, q->ldx, &b, n, k->C);
    if (r + 2 <= R) {
        rows_of(kind, 2, s + r * lds, lds, q->x + r * q->ldx, q->ldx, &b, n, k->C);
        r += 2;
    }
    if (r < R)
        rows_of(kind, 1, s + r * lds, lds, q->x + r * q->ldx, q->ldx, &b, n, k->C);
}

#define DEFINE(name, kind)                                                                                             \
    void sl_attn_scores_token_##name##_avx2(float *s, size_t lds, const sl_attn_query *q, size_t R,                    \
                                            const sl_kv_head *k, size_t at, size_t n)                                  \
    {                                                                                                                  \
        scores(kind, s, lds, q, R, k, at, n);                                                                          \
    }
DEFINE(f32, B_F32)
DEFINE(f16, B_F16)
DEFINE(bf16, B_BF16)
#undef DEFINE
