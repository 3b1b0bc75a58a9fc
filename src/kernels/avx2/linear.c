/* linear.c - the panel types of AVX2: linear_f32.c with rows_f32.c, linear_s16.c, linear_u.c; and what
 * goes as one of the last two: the K-quants, linear_k.c, nibbles with a table, linear_lut.c and linear_mxfp4.c, and
 * what has its scales beside it, linear_int4.c and linear_int8.c, rows_scaled.c and rows_any.c with f32 activations.
 * What lies by columns is read by linear_columns.c. */
#include "kernels/avx2/linear_in.h"

void sl_linear_init_avx2(sl_kernels *k)
{
    sl_linear_init_avx2_f32(k);
    sl_linear_init_avx2_s16(k);
    sl_linear_init_avx2_s8(k);
    sl_linear_init_avx2_u(k);
    sl_linear_init_avx2_k(k);
    sl_linear_init_avx2_q6_k(k);
    sl_linear_init_avx2_lut(k);
    sl_linear_init_avx2_int4(k);
    sl_linear_init_avx2_int8(k);
    sl_linear_init_avx2_scaled(k);
    sl_linear_init_avx2_any(k);
    sl_linear_init_avx2_mxfp4(k);
    sl_linear_init_avx2_columns(k);
    sl_linear_init_avx2_gptq(k);
    sl_linear_init_avx2_f8(k);
}
