/* probe_avx512.c - the multiply-add sequences of AVX-512 kernels; the caller asks the CPU for
 * VNNI and BF16. */
#include "measure/probe_in.h"

#define LOAD "vpbroadcastd %[x], %%zmm0\n\tvpbroadcastd %[y], %%zmm1\n\t"

#define FMA(n) "vfmadd213ps %%zmm1, %%zmm0, %%zmm" n "\n\t"
void sl_probe_fma_avx512_f32(size_t steps)
{
    const float x = 0.999f, y = 1e-3f; /* tends to 1: no slow numbers */
    SL_PROBE_LOOP(LOAD, FMA, steps, x, y);
}

#define DPBUSD(n) "vpdpbusd %%zmm1, %%zmm0, %%zmm" n "\n\t"
void sl_probe_int8_vnni512(size_t steps)
{
    const uint32_t x = 0x03030303, y = 0xfefefefe; /* 3 and -2 */
    SL_PROBE_LOOP(LOAD, DPBUSD, steps, x, y);
}

#define DPBF16(n) "vdpbf16ps %%zmm1, %%zmm0, %%zmm" n "\n\t"
void sl_probe_bf16_avx512(size_t steps)
{
    const uint32_t x = 0x3f803f80, y = 0x3a803a80; /* 1 and 2^-10 */
    SL_PROBE_LOOP(LOAD, DPBF16, steps, x, y);
}
