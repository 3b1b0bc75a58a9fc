/* linear.c - the panel types of AVX2: linear_f32.c with rows_f32.c, linear_s16.c, linear_u.c; and the K-quants
 * that go as one of the last two, linear_k.c. */
#include "kernels/avx2/linear_in.h"

void sl_linear_init_avx2(sl_kernels *k)
{
    sl_linear_init_avx2_f32(k);
    sl_linear_init_avx2_s16(k);
    sl_linear_init_avx2_u(k);
    sl_linear_init_avx2_k(k);
}
