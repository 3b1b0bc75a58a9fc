/* kernels.c - the list of kernel folders. */
#include "kernels/kernels_in.h"

#include "base/num.h"

#define PANELS_LEAST (128u * 1024)  /* also where the cache is unknown */
#define PANELS_MOST  (1024u * 1024) /* 8 panels are no larger */

void sl_kernels_init(sl_kernels *k, sl_isa ceiling)
{
    /* A quarter: activations and results pass through the same cache, and so may another thread's on its core. */
    *k = (sl_kernels){ .isa = SL_ISA_SCALAR,
                       .panels_bytes = SL_MIN(SL_MAX(sl_cpu_l2_bytes() / 4, PANELS_LEAST), PANELS_MOST) };
    sl_kernels_init_scalar(k);

    /* A ceiling never lifts what the CPU has. */
    const sl_isa best = SL_MIN(ceiling, sl_cpu_isa());
    if (best < SL_ISA_AVX2)
        return;
#if SL_HAVE_AVX2
    sl_kernels_init_avx2(k);
#endif
}

void sl_kernels_keep_floats(sl_kernels *k)
{
    for (size_t f = 0; f < SL_FORMAT_COUNT; f++)
        if (k->panel[f][SL_ACT_Q8].needs & SL_NEED_ROUNDED)
            k->panel[f][SL_ACT_Q8] = k->panel[f][SL_ACT_F32];
}

const char *sl_kernels_built(void)
{
#if SL_HAVE_AVX2
    return "scalar avx2";
#else
    return "scalar";
#endif
}
