/* probe_in.h - the parts of the probe that are compiled for one instruction set each. */
#ifndef SL_MEASURE_PROBE_IN_H
#define SL_MEASURE_PROBE_IN_H

#include <stddef.h>
#include <stdint.h>

/* Read p[0..bytes) once, `bytes` a multiple of streams * 256, 64-byte aligned; returns a mix
 * of what was read, so that no load can be left out. */
typedef uint64_t sl_probe_read_fn(const void *p, size_t bytes, size_t streams, size_t ahead);

/* `steps` (at least 1) steps on each of SL_PROBE_CHAINS independent accumulators. */
typedef void sl_probe_peak_fn(size_t steps);

/* Chains that hide the latency of a multiply-add on every core so far (two units of five
 * cycles) and leave registers for the operands. */
#define SL_PROBE_CHAINS 10

sl_probe_read_fn sl_probe_read_avx2;
sl_probe_peak_fn sl_probe_fma_avx2_f32, sl_probe_int8_avx2_maddubs, sl_probe_int8_avx2_maddubs_paired,
    sl_probe_int8_avx2_madd16, sl_probe_int8_avx2_madd16_bare;
sl_probe_peak_fn sl_probe_fma_avx512_f32, sl_probe_int8_vnni512, sl_probe_bf16_avx512;

#define SL_PROBE_EACH(C) C("3") C("4") C("5") C("6") C("7") C("8") C("9") C("10") C("11") C("12")
#define SL_PROBE_ZERO(n) "vpxor %%xmm" n ", %%xmm" n ", %%xmm" n "\n\t"

/* The loop begins a cache line: where it lies moves some of these rates by a quarter.
 * `steps` rounds over the chains, in assembly since a compiler would merge, hoist or spill
 * what it understands. C(n) is the text of one chain's step on accumulator register n;
 * LOAD puts the operands x and y into registers 0 and 1; registers 2, 13 and 14 are scratch. */
#define SL_PROBE_LOOP(LOAD, C, steps, vx, vy)                                                                          \
    __asm__ volatile(                                                                                                  \
        LOAD SL_PROBE_EACH(SL_PROBE_ZERO) ".p2align 6\n1:\n\t" SL_PROBE_EACH(C) "dec %[n]\n\tjnz 1b\n\tvzeroupper"     \
        : [n] "+r"(steps)                                                                                              \
        : [x] "m"(vx), [y] "m"(vy)                                                                                     \
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",   \
          "xmm13", "xmm14", "cc")

#endif
