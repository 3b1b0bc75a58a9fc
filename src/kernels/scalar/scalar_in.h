/* scalar_in.h - the readable twins: what each slot of the table means. */
#ifndef SL_KERNELS_SCALAR_SCALAR_IN_H
#define SL_KERNELS_SCALAR_SCALAR_IN_H

#include "kernels/kernels_in.h"

sl_rms_norm_fn sl_rms_norm_scalar;
sl_add_fn sl_add_scalar;
sl_mul_fn sl_mul_scalar;
sl_scale_fn sl_scale_scalar;
sl_silu_fn sl_silu_scalar;

#endif
