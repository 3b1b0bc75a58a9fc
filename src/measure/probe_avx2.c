/* probe_avx2.c - reading and the multiply-add sequences of AVX2 kernels. */
#include "measure/probe_in.h"
#include <immintrin.h>
#include <stdbool.h>

static inline __attribute__((always_inline)) uint64_t read_parts(const char *p, size_t bytes, size_t streams,
                                                                 size_t ahead, bool prefetch)
{
    const size_t part = bytes / streams;
    __m256i mix[4] = { _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256() };
    for (size_t i = 0; i < part; i += 256)
        for (size_t s = 0; s < streams; s++) {
            const char *q = p + s * part + i;
            for (size_t line = 0; line < 4; line++) {
                if (prefetch)
                    _mm_prefetch(q + 64 * line + ahead, _MM_HINT_T0);
                const __m256i *v = (const __m256i *)(q + 64 * line);
                mix[line] =
                    _mm256_xor_si256(mix[line], _mm256_xor_si256(_mm256_load_si256(v), _mm256_load_si256(v + 1)));
            }
        }
    const __m256i all = _mm256_xor_si256(_mm256_xor_si256(mix[0], mix[1]), _mm256_xor_si256(mix[2], mix[3]));
    return (uint64_t)(_mm256_extract_epi64(all, 0) ^ _mm256_extract_epi64(all, 1) ^ _mm256_extract_epi64(all, 2) ^
                      _mm256_extract_epi64(all, 3));
}

uint64_t sl_probe_read_avx2(const void *p, size_t bytes, size_t streams, size_t ahead)
{
    if (streams == 1) /* known to the compiler: caches are fast enough to see the loop's cost */
        return ahead ? read_parts(p, bytes, 1, ahead, true) : read_parts(p, bytes, 1, 0, false);
    return ahead ? read_parts(p, bytes, streams, ahead, true) : read_parts(p, bytes, streams, 0, false);
}

/* Each operand is one value everywhere; the ones that widen s16 to s32 go to register 13. */
#define LOAD      "vpbroadcastd %[x], %%ymm0\n\tvpbroadcastd %[y], %%ymm1\n\t"
#define LOAD_ONES LOAD "vpcmpeqw %%ymm13, %%ymm13, %%ymm13\n\tvpsrlw $15, %%ymm13, %%ymm13\n\t"

#define FMA(n) "vfmadd213ps %%ymm1, %%ymm0, %%ymm" n "\n\t"
void sl_probe_fma_avx2_f32(size_t steps)
{
    const float x = 0.999f, y = 1e-3f; /* tends to 1: no slow numbers */
    SL_PROBE_LOOP(LOAD, FMA, steps, x, y);
}

static const uint32_t U8 = 0x03030303, S8 = 0xfefefefe, U16 = 0x00030003, S16 = 0xfffefffe; /* 3 and -2 */

#define MADDUBS(n)                                                                                                     \
    "vpmaddubsw %%ymm1, %%ymm0, %%ymm2\n\tvpmaddwd %%ymm13, %%ymm2, %%ymm2\n\t"                                        \
    "vpaddd %%ymm2, %%ymm" n ", %%ymm" n "\n\t"
void sl_probe_int8_avx2_maddubs(size_t steps)
{
    SL_PROBE_LOOP(LOAD_ONES, MADDUBS, steps, U8, S8);
}

#define MADDUBS_PAIRED(n)                                                                                              \
    "vpmaddubsw %%ymm1, %%ymm0, %%ymm2\n\tvpmaddubsw %%ymm1, %%ymm0, %%ymm14\n\tvpaddw %%ymm14, %%ymm2, %%ymm2\n\t"    \
    "vpmaddwd %%ymm13, %%ymm2, %%ymm2\n\tvpaddd %%ymm2, %%ymm" n ", %%ymm" n "\n\t"
void sl_probe_int8_avx2_maddubs_paired(size_t steps)
{
    SL_PROBE_LOOP(LOAD_ONES, MADDUBS_PAIRED, steps, U8, S8);
}

#define MADD16(n)                                                                                                      \
    "vpmaddwd %%ymm1, %%ymm0, %%ymm2\n\tvpaddd %%ymm" n ", %%ymm2, %%ymm2\n\tvmovdqa %%ymm2, %%ymm" n "\n\t"
void sl_probe_int8_avx2_madd16(size_t steps)
{
    SL_PROBE_LOOP(LOAD, MADD16, steps, U16, S16);
}

#define MADD16_BARE(n) "vpmaddwd %%ymm1, %%ymm0, %%ymm2\n\tvpaddd %%ymm2, %%ymm" n ", %%ymm" n "\n\t"
void sl_probe_int8_avx2_madd16_bare(size_t steps)
{
    SL_PROBE_LOOP(LOAD, MADD16_BARE, steps, U16, S16);
}
