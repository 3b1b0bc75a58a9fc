/* probe.h - what this machine can do at most, measured: the yardsticks of roof shares.
 *
 * Decode is bound by reading the weights, prefill by multiplying them; so the probe
 * measures memory bandwidth and the multiply-add rates of the instruction sequences that
 * kernels are made of. GB/s are 1e9 bytes a second; a multiply-add counts as 2 operations,
 * other instructions of a sequence as none. Every figure is the best of several passes.
 *
 *   read       one pass of each thread over its share of an array
 *   read_best  the same, best of 1, 4, 8 streams x 0, 512, 2048 bytes of prefetch
 *   triad      a = b + s * c, three arrays counted
 *   copy       memcpy, two arrays counted
 *   l3_read    reading 8 MiB over and over, split over the threads, with 32-byte loads
 *   peaks      SL_PEAK_LIST, registers only
 */
#ifndef SL_MEASURE_PROBE_H
#define SL_MEASURE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/pool.h"
#include "base/status.h"
#include "base/str.h"

/* name, unit of the key in JSON ("<name>_<unit>"), instructions of a step on one vector:
 *   maddubs         u8 x s8 through s16 at once to s32: maddubs, madd, add
 *   maddubs_paired  two maddubs added as s16 before they are widened (4-bit weights)
 *   madd16          s16 x s16: madd, add, register copy (s8 x s8 without saturation; widening
 *                   not counted). The copy is what compilers put there; the key has always
 *                   meant that, and shares quoted against it stay comparable
 *   madd16_bare     the same without the copy: the ceiling, printed beside it
 *   vnni, bf16      one dot-product instruction */
#define SL_PEAK_LIST(X)                                                                                                \
    X(FMA_AVX2_F32, "fma_avx2_f32", "GFLOPs")                                                                          \
    X(INT8_AVX2_MADDUBS, "int8_avx2_maddubs", "GOPs")                                                                  \
    X(INT8_AVX2_MADDUBS_PAIRED, "int8_avx2_maddubs_paired", "GOPs")                                                    \
    X(INT8_AVX2_MADD16, "int8_avx2_madd16", "GOPs")                                                                    \
    X(INT8_AVX2_MADD16_BARE, "int8_avx2_madd16_bare", "GOPs")                                                          \
    X(FMA_AVX512_F32, "fma_avx512_f32", "GFLOPs")                                                                      \
    X(INT8_VNNI512, "int8_vnni512", "GOPs")                                                                            \
    X(BF16_AVX512, "bf16_avx512", "GFLOPs")
typedef enum sl_peak {
#define SL_PEAK_ENUM(id, name, unit) SL_PEAK_##id,
    SL_PEAK_LIST(SL_PEAK_ENUM)
#undef SL_PEAK_ENUM
        SL_PEAK_COUNT
} sl_peak;

const char *sl_peak_name(sl_peak peak);               /* "int8_avx2_madd16" */
const char *sl_peak_key(sl_peak peak);                /* "int8_avx2_madd16_GOPs" */
bool sl_peak_by_name(const char *name, sl_peak *out); /* false: no such name */
bool sl_peak_present(sl_peak peak);                   /* the CPU has the instructions */
/* The yardstick of products of weights of this format ("Q4_0") with 8-bit or f32 activations, as in bench/README.md. */
sl_peak sl_peak_of(const char *format, bool int8);

/* About `steps` steps of a peak's sequence on this thread, and nothing else: for callers with a clock of their own.
 * Returns the operations that were done; the CPU has the instructions (sl_peak_present). */
double sl_peak_run(sl_peak peak, size_t steps);

/* How an array is read: in `streams` equal parts in turn, with a prefetch `ahead` bytes
 * before use (0: none). Some machines fill the bus only with more of either. */
typedef struct sl_read_pattern {
    size_t streams, ahead;
} sl_read_pattern;

/* Read `bytes` at p n times on this thread, with that pattern: bytes a multiple of streams * 256, p aligned to 64.
 * Returns a mix of what was read. */
uint64_t sl_read_run(const void *p, size_t bytes, sl_read_pattern pattern, size_t n);

typedef struct sl_probe sl_probe;

/* Arrays of `array_bytes` (at least 16 MiB; well above the last cache, 512 MiB say); one is
 * touched now, two more by sl_probe_roofline. `pool` is borrowed until the probe is
 * destroyed and must be idle during each call. Finds the best read pattern, which costs
 * about 20 passes over an array. SL_EINVAL, SL_ENOMEM. */
sl_status sl_probe_create(sl_probe **out, sl_pool *pool, size_t array_bytes, sl_err *err);
void sl_probe_destroy(sl_probe *probe); /* accepts NULL */

/* The yardsticks at this moment: half of `seconds` for reading with the best pattern, half
 * for one peak. What a round of a comparison starts with (0.2 s). */
typedef struct sl_probe_now {
    double read_gb_s;
    double peak_g_s; /* 1e9 operations a second */
} sl_probe_now;

/* SL_EUNSUPPORTED: the CPU lacks the peak's instructions. */
sl_status sl_probe_measure(sl_probe *probe, sl_peak peak, double seconds, sl_probe_now *out, sl_err *err);

typedef struct sl_roofline {
    size_t threads, array_bytes;
    double read_gb_s, read_best_gb_s, triad_gb_s, copy_gb_s, l3_read_gb_s;
    sl_read_pattern best;           /* the pattern of read_best */
    double peak_g_s[SL_PEAK_COUNT]; /* negative: the CPU lacks it */
} sl_roofline;

/* Everything, about 3 seconds. SL_ENOMEM. */
sl_status sl_probe_roofline(sl_probe *probe, sl_roofline *out, sl_err *err);

/* {"threads": 2, "array_mib": 512, "read_GBs": 21.30, ..., "<peak key>": 193.10 or null} */
void sl_roofline_json(sl_str *out, const sl_roofline *r);

#endif
