/* init.c - every slot of the table, plain C. */
#include "kernels/scalar/scalar_in.h"

void sl_kernels_init_scalar(sl_kernels *k)
{
    k->isa = SL_ISA_SCALAR;
    sl_linear_init_scalar(k);
    k->rms_norm = sl_rms_norm_scalar;
    k->add = sl_add_scalar;
    k->mul = sl_mul_scalar;
    k->scale = sl_scale_scalar;
    k->silu = sl_silu_scalar;
}
