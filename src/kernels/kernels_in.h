/* kernels_in.h - how the folders fill the table. Each function writes the slots that its
 * folder has and leaves the others as they are. */
#ifndef SL_KERNELS_KERNELS_IN_H
#define SL_KERNELS_KERNELS_IN_H

#include "base/num.h"
#include "kernels/kernels.h"

/* The 8-bit form that a format asks for. */
static inline unsigned sl_need_8(sl_format f)
{
    return f == SL_FORMAT_INT8_TOKEN ? SL_NEED_T8 : SL_NEED_Q8;
}

/* The form of f32 inputs that a format asks for where inputs are rounded. */
static inline unsigned sl_need_rounded(sl_format f)
{
    return f == SL_FORMAT_F8_E4M3_128     ? SL_NEED_E4M3
           : f == SL_FORMAT_F8_E4M3_UE8M0 ? SL_NEED_E4M3_POWER
           : f == SL_FORMAT_F8_E4M3_TOKEN ? SL_NEED_E4M3_TOKEN
                                          : SL_NEED_F32;
}

/* The smallest power of two that is not below d > 0, d below 2^127. */
static inline float sl_power_from(float d)
{
    return sl_f32_from_bits((sl_f32_bits(d) + 0x007fffffu) & 0x7f800000u);
}

/* Where element c of token j lies in a page of keys. */
static inline size_t sl_kv_k_index(sl_kv_layout layout, sl_kv_type type, const sl_kv_head *h, size_t j, size_t c)
{
    const size_t g = sl_kv_group(type), B = SL_KV_BLOCK;
    if (layout == SL_KV_TOKEN)
        return j * h->C + c;
    return ((j / B * sl_div_up(h->C, g) + c / g) * B + j % B) * g + c % g;
}

void sl_kernels_init_scalar(sl_kernels *k);
void sl_kernels_init_avx2(sl_kernels *k); /* call only on a CPU that has AVX2, FMA and F16C */

/* The panels, called by the two above. */
void sl_linear_init_scalar(sl_kernels *k);
void sl_linear_init_avx2(sl_kernels *k);

#endif
