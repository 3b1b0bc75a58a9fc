/* pages.h - KV pages as the tests see them: where an element lies and what it is worth,
 * written down apart from the kernels. */
#ifndef SL_TESTS_CHECKASM_PAGES_H
#define SL_TESTS_CHECKASM_PAGES_H

#include "base/num.h"
#include "kernels/kernels.h"

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

/* K [C/g][P][g], V [P][C] */
static inline size_t page_index(const sl_kv_head *h, sl_kv_type type, bool key, size_t token, size_t channel)
{
    if (!key)
        return token * h->C + channel;
    if (type == SL_KV_BF16)
        return channel / 2 * h->P * 2 + token * 2 + channel % 2;
    return channel * h->P + token;
}

static inline void page_set(const sl_kv_head *h, sl_kv_type type, bool key, size_t token, size_t channel, float x)
{
    const size_t i = page_index(h, type, key, token, channel);
    if (type == SL_KV_F32)
        ((float *)h->data)[i] = x;
    else
        ((uint16_t *)h->data)[i] = type == SL_KV_F16 ? sl_f16_from_f32(x) : sl_bf16_from_f32(x);
}

static inline double page_get(const sl_kv_head *h, sl_kv_type type, bool key, size_t token, size_t channel)
{
    const size_t i = page_index(h, type, key, token, channel);
    if (type == SL_KV_F32)
        return ((const float *)h->data)[i];
    const uint16_t u = ((const uint16_t *)h->data)[i];
    return type == SL_KV_F16 ? sl_f32_from_f16(u) : sl_f32_from_bf16(u);
}

#endif
