/* attn.c - scores of one page's keys, and the weighted sum of its values. */
#include "kernels/scalar/scalar_in.h"

#include "base/num.h"

/* Element i of a page, as the number it stands for. */
static inline float stored(sl_kv_type type, const void *data, size_t i)
{
    switch (type) {
    case SL_KV_F16:
        return sl_f32_from_f16(((const uint16_t *)data)[i]);
    case SL_KV_BF16:
        return sl_f32_from_bf16(((const uint16_t *)data)[i]);
    case SL_KV_INT8:
        return (float)((const int8_t *)data)[i];
    default:
        return ((const float *)data)[i];
    }
}

static inline void scores(sl_kv_layout layout, sl_kv_type type, float *s, size_t lds, const sl_attn_query *q, size_t R,
                          const sl_kv_head *k, size_t at, size_t n)
{
    for (size_t r = 0; r < R; r++)
        for (size_t j = 0; j < n; j++) {
            float sum = 0.0f;
            for (size_t c = 0; c < k->C; c++)
                sum += q->x[r * q->ldx + c] * stored(type, k->data, sl_kv_k_index(layout, type, k, at + j, c));
            s[r * lds + j] = sum;
        }
}

static inline void scores_int8(sl_kv_layout layout, float *s, size_t lds, const sl_attn_query *q, size_t R,
                               const sl_kv_head *k, size_t at, size_t n)
{
    const int8_t *data = k->data;
    for (size_t r = 0; r < R; r++)
        for (size_t j = 0; j < n; j++) {
            int32_t sum = 0;
            for (size_t c = 0; c < k->C; c++)
                sum += q->q[r * q->ldq + c] * data[sl_kv_k_index(layout, SL_KV_INT8, k, at + j, c)];
            s[r * lds + j] = (float)sum * k->scale[at + j] * q->d[r];
        }
}

static inline void mix(sl_kv_type type, float *acc, const float *p, size_t ldp, const uint32_t *n, size_t R,
                       const sl_kv_head *v, size_t at)
{
    const size_t C = v->C;
    for (size_t r = 0; r < R; r++)
        for (size_t j = 0; j < n[r]; j++) {
            const float weight = type == SL_KV_INT8 ? p[r * ldp + j] * v->scale[at + j] : p[r * ldp + j];
            for (size_t c = 0; c < C; c++)
                acc[r * C + c] += weight * stored(type, v->data, (at + j) * C + c);
        }
}

#define DEFINE_SCORES(name, layout, type)                                                                              \
    void sl_attn_scores_##name##_scalar(float *s, size_t lds, const sl_attn_query *q, size_t R, const sl_kv_head *k,   \
                                        size_t at, size_t n)                                                           \
    {                                                                                                                  \
        if (type == SL_KV_INT8)                                                                                        \
            scores_int8(layout, s, lds, q, R, k, at, n);                                                               \
        else                                                                                                           \
            scores(layout, type, s, lds, q, R, k, at, n);                                                              \
    }
#define DEFINE(name, type)                                                                                             \
    DEFINE_SCORES(name, SL_KV_GROUPED, type)                                                                           \
    DEFINE_SCORES(token_##name, SL_KV_TOKEN, type)                                                                     \
    void sl_attn_mix_##name##_scalar(float *acc, const float *p, size_t ldp, const uint32_t *n, size_t R,              \
                                     const sl_kv_head *v, size_t at)                                                   \
    {                                                                                                                  \
        mix(type, acc, p, ldp, n, R, v, at);                                                                           \
    }
DEFINE(f32, SL_KV_F32)
DEFINE(f16, SL_KV_F16)
DEFINE(bf16, SL_KV_BF16)
DEFINE(int8, SL_KV_INT8)
#undef DEFINE
#undef DEFINE_SCORES
