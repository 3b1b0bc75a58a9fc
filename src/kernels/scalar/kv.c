/* kv.c - writing keys and values into a page, and where each element lies in it. */
#include "kernels/scalar/scalar_in.h"

#include "base/num.h"

void sl_kv_write_k_f32_scalar(const sl_kv_head *h, size_t at, const float *x)
{
    float *k = h->data;
    for (size_t c = 0; c < h->C; c++)
        k[sl_kv_k_index(SL_KV_F32, h->P, at, c)] = x[c];
}

void sl_kv_write_k_f16_scalar(const sl_kv_head *h, size_t at, const float *x)
{
    uint16_t *k = h->data;
    for (size_t c = 0; c < h->C; c++)
        k[sl_kv_k_index(SL_KV_F16, h->P, at, c)] = sl_f16_from_f32(x[c]);
}

void sl_kv_write_k_bf16_scalar(const sl_kv_head *h, size_t at, const float *x)
{
    uint16_t *k = h->data;
    for (size_t c = 0; c < h->C; c++)
        k[sl_kv_k_index(SL_KV_BF16, h->P, at, c)] = sl_bf16_from_f32(x[c]);
}

void sl_kv_write_v_f32_scalar(const sl_kv_head *h, size_t at, const float *x)
{
    memcpy((float *)h->data + at * h->C, x, h->C * sizeof *x);
}

void sl_kv_write_v_f16_scalar(const sl_kv_head *h, size_t at, const float *x)
{
    uint16_t *v = (uint16_t *)h->data + at * h->C;
    for (size_t c = 0; c < h->C; c++)
        v[c] = sl_f16_from_f32(x[c]);
}

void sl_kv_write_v_bf16_scalar(const sl_kv_head *h, size_t at, const float *x)
{
    uint16_t *v = (uint16_t *)h->data + at * h->C;
    for (size_t c = 0; c < h->C; c++)
        v[c] = sl_bf16_from_f32(x[c]);
}
