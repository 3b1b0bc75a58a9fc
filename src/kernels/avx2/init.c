/* init.c - the slots that AVX2, FMA and F16C make faster. */
#include "kernels/avx2/avx2_in.h"

void sl_kernels_init_avx2(sl_kernels *k)
{
    k->isa = SL_ISA_AVX2;
    k->rms_norm = sl_rms_norm_avx2;
    k->add = sl_add_avx2;
    k->mul = sl_mul_avx2;
    k->scale = sl_scale_avx2;
    k->silu = sl_silu_avx2;
}
