/* kv.c - writing keys and values into a page, and where each element lies in it. */
#include "kernels/scalar/scalar_in.h"

#include <math.h>

#include "base/num.h"

/* The scale of a head; NaN if a number is not finite. */
static float scale_of(const float *x, size_t C)
{
    float top = 0.0f;
    bool finite = true;
    for (size_t c = 0; c < C; c++) {
        top = fmaxf(top, fabsf(x[c]));
        finite = finite && isfinite(x[c]);
    }
    return finite ? top / 127.0f : NAN;
}

static int8_t quantize(float x, float d)
{
    if (!(d > 0.0f)) /* not finite, or all so small that the scale is 0 */
        return 0;
    /* Only a subnormal d is so coarse that the limits matter. */
    return (int8_t)lrintf(fminf(fmaxf(x / d, -127.0f), 127.0f));
}

float sl_quantize_head_scalar(int8_t *q, const float *x, size_t C)
{
    const float d = scale_of(x, C);
    memset(q, 0, sl_round_up(C, SL_HEAD_PAD));
    for (size_t c = 0; c < C; c++)
        q[c] = quantize(x[c], d);
    return d;
}

static inline void store(sl_kv_type type, void *data, size_t i, float x)
{
    if (type == SL_KV_F32)
        ((float *)data)[i] = x;
    else
        ((uint16_t *)data)[i] = type == SL_KV_F16 ? sl_f16_from_f32(x) : sl_bf16_from_f32(x);
}

static inline void write_k(sl_kv_type type, const sl_kv_head *h, size_t at, const float *x)
{
    for (size_t c = 0; c < h->C; c++)
        store(type, h->data, sl_kv_k_index(SL_KV_GROUPED, type, h, at, c), x[c]);
}

static inline void write_v(sl_kv_type type, const sl_kv_head *h, size_t at, const float *x)
{
    for (size_t c = 0; c < h->C; c++)
        store(type, h->data, at * h->C + c, x[c]);
}

#define DEFINE(name, type)                                                                                             \
    void sl_kv_write_k_##name##_scalar(const sl_kv_head *h, size_t at, const float *x)                                 \
    {                                                                                                                  \
        write_k(type, h, at, x);                                                                                       \
    }                                                                                                                  \
    void sl_kv_write_v_##name##_scalar(const sl_kv_head *h, size_t at, const float *x)                                 \
    {                                                                                                                  \
        write_v(type, h, at, x);                                                                                       \
    }
DEFINE(f32, SL_KV_F32)
DEFINE(f16, SL_KV_F16)
DEFINE(bf16, SL_KV_BF16)
#undef DEFINE

void sl_kv_write_k_int8_scalar(const sl_kv_head *h, size_t at, const float *x)
{
    int8_t *k = h->data;
    const float d = scale_of(x, h->C);
    for (size_t c = 0; c < sl_round_up(h->C, 4); c++)
        k[sl_kv_k_index(SL_KV_GROUPED, SL_KV_INT8, h, at, c)] = c < h->C ? quantize(x[c], d) : 0;
    h->scale[at] = d;
}

void sl_kv_write_v_int8_scalar(const sl_kv_head *h, size_t at, const float *x)
{
    int8_t *v = (int8_t *)h->data + at * h->C;
    const float d = scale_of(x, h->C);
    for (size_t c = 0; c < h->C; c++)
        v[c] = quantize(x[c], d);
    h->scale[at] = d;
}
