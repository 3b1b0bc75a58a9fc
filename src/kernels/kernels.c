/* kernels.c - the list of kernel folders. */
#include "kernels/kernels_in.h"

#include "base/num.h"

void sl_kernels_init(sl_kernels *k, sl_isa ceiling)
{
    *k = (sl_kernels){ .isa = SL_ISA_SCALAR };
    sl_kernels_init_scalar(k);

    /* A ceiling never lifts what the CPU has. */
    const sl_isa best = SL_MIN(ceiling, sl_cpu_isa());
    if (best < SL_ISA_AVX2)
        return;
#if SL_HAVE_AVX2
    sl_kernels_init_avx2(k);
#endif
}

const char *sl_kernels_built(void)
{
#if SL_HAVE_AVX2
    return "scalar avx2";
#else
    return "scalar";
#endif
}
