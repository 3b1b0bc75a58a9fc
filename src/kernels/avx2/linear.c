/* linear.c - the panel types of AVX2, see linear_u4.c, linear_s8.c, linear_f32.c
 * and rows_f32.c. */
#include "kernels/avx2/linear_in.h"

void sl_linear_init_avx2(sl_kernels *k)
{
    sl_linear_init_avx2_f32(k);
    sl_linear_init_avx2_u4(k);
    sl_linear_init_avx2_s8(k);
}
