/* pages.h - KV pages as the tests see them: where an element lies and what it is worth,
 * written down apart from the kernels. */
#ifndef SL_TESTS_CHECKASM_PAGES_H
#define SL_TESTS_CHECKASM_PAGES_H

#include <math.h>

#include "base/num.h"
#include "checkasm.h"
#include "kernels/kernels.h"

/* Of one number. */
static inline size_t page_bytes(sl_kv_type type)
{
    static const size_t bytes[] = {
#define BYTES(name, size, text) [SL_KV_##name] = size,
        SL_KV_TYPE_LIST(BYTES)
#undef BYTES
    };
    return bytes[type];
}

static inline const char *page_type_name(sl_kv_type type)
{
    static const char *const names[] = {
#define NAME(name, size, text) [SL_KV_##name] = text,
        SL_KV_TYPE_LIST(NAME)
#undef NAME
    };
    return names[type];
}

/* What a page holds. */
typedef enum page_kind { PAGE_KEYS, PAGE_KEYS_TOKEN, PAGE_VALUES } page_kind;

static inline const char *page_kind_name(page_kind kind)
{
    return kind == PAGE_KEYS_TOKEN ? "token layout " : "";
}

/* Numbers of a head, with what int8 pads them to; then its scales. */
static inline size_t page_numbers(sl_kv_type type, size_t P, size_t C)
{
    return P * (type == SL_KV_INT8 && C % 4 ? C + 4 - C % 4 : C);
}

static inline size_t page_head_bytes(sl_kv_type type, size_t P, size_t C)
{
    return page_numbers(type, P, C) * page_bytes(type) + (type == SL_KV_INT8 ? P * sizeof(float) : 0);
}

/* A head of which every bit is what no result may depend on; it ends where memory ends. */
static inline sl_kv_head page_new(ca *c, sl_kv_type type, size_t P, size_t C)
{
    const size_t bytes = page_head_bytes(type, P, C), n = page_numbers(type, P, C);
    char *data = ca_buf(c, bytes);
    sl_kv_head h = { .data = data, .P = P, .C = C };
    for (size_t i = 0; type == SL_KV_F32 && i < n; i++)
        ((float *)(void *)data)[i] = NAN;
    for (size_t i = 0; (type == SL_KV_F16 || type == SL_KV_BF16) && i < n; i++)
        ((uint16_t *)(void *)data)[i] = 0x7fff;
    if (type != SL_KV_INT8)
        return h;
    memset(data, 0x80, n);
    h.scale = (float *)(void *)(data + n);
    for (size_t t = 0; t < P; t++)
        h.scale[t] = NAN;
    return h;
}

/* keys [P/8][C/g][8][g]; values, and keys in the token layout, [P][C] */
static inline size_t page_index(const sl_kv_head *h, sl_kv_type type, page_kind kind, size_t token, size_t channel)
{
    static const size_t group[] = { [SL_KV_F32] = 1, [SL_KV_F16] = 1, [SL_KV_BF16] = 2, [SL_KV_INT8] = 4 };
    const size_t g = group[type];
    if (kind != PAGE_KEYS)
        return token * h->C + channel;
    return token / 8 * ((h->C + g - 1) / g * g) * 8 + channel / g * 8 * g + token % 8 * g + channel % g;
}

/* int8: the number of a head with scale d. */
static inline int8_t page_quantized(float x, float d)
{
    const double q = d > 0 ? nearbyint((double)(x / d)) : 0;
    return (int8_t)fmax(-127, fmin(127, q));
}

static inline float page_scale(const float *x, size_t C)
{
    float top = 0;
    for (size_t i = 0; i < C; i++)
        top = isfinite(x[i]) && isfinite(top) ? fmaxf(top, fabsf(x[i])) : NAN;
    return top / 127;
}

/* One token's head, x [C]. */
static inline void page_set(const sl_kv_head *h, sl_kv_type type, page_kind kind, size_t token, const float *x)
{
    const float d = page_scale(x, h->C);
    for (size_t c = 0; c < h->C; c++) {
        const size_t i = page_index(h, type, kind, token, c);
        if (type == SL_KV_F32)
            ((float *)h->data)[i] = x[c];
        else if (type == SL_KV_INT8)
            ((int8_t *)h->data)[i] = page_quantized(x[c], d);
        else
            ((uint16_t *)h->data)[i] = type == SL_KV_F16 ? sl_f16_from_f32(x[c]) : sl_bf16_from_f32(x[c]);
    }
    for (size_t c = h->C; type == SL_KV_INT8 && kind == PAGE_KEYS && c % 4; c++) /* the last group's rest */
        ((int8_t *)h->data)[page_index(h, type, kind, token, c)] = 0;
    if (type == SL_KV_INT8)
        h->scale[token] = d;
}

/* Without the scale. */
static inline double page_number(const sl_kv_head *h, sl_kv_type type, page_kind kind, size_t token, size_t channel)
{
    const size_t i = page_index(h, type, kind, token, channel);
    if (type == SL_KV_F32)
        return ((const float *)h->data)[i];
    if (type == SL_KV_INT8)
        return ((const int8_t *)h->data)[i];
    const uint16_t u = ((const uint16_t *)h->data)[i];
    return type == SL_KV_F16 ? sl_f32_from_f16(u) : sl_f32_from_bf16(u);
}

#endif
