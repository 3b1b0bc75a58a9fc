/* kernels_in.h - how the folders fill the table. Each function writes the slots that its
 * folder has and leaves the others as they are. */
#ifndef SL_KERNELS_KERNELS_IN_H
#define SL_KERNELS_KERNELS_IN_H

#include "kernels/kernels.h"

/* Where element c of token j lies in a page of keys, [C/g][P][g]. */
static inline size_t sl_kv_k_index(sl_kv_type type, size_t P, size_t j, size_t c)
{
    const size_t g = type == SL_KV_BF16 ? 2 : 1;
    return (c / g * P + j) * g + c % g;
}

void sl_kernels_init_scalar(sl_kernels *k);
void sl_kernels_init_avx2(sl_kernels *k); /* call only on a CPU that has AVX2, FMA and F16C */

/* The panels, called by the two above. */
void sl_linear_init_scalar(sl_kernels *k);
void sl_linear_init_avx2(sl_kernels *k);

#endif
