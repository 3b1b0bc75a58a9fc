/* cpu.h - what this machine can do, and what this process may use of it. */
#ifndef SL_BASE_CPU_H
#define SL_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

/* Instruction sets that have a kernel folder, each including those before it. */
#define SL_ISA_LIST(X) X(SCALAR, "scalar") X(AVX2, "avx2") X(AVX512, "avx512") X(AMX, "amx")
typedef enum sl_isa {
#define SL_ISA_ENUM(name, text) SL_ISA_##name,
    SL_ISA_LIST(SL_ISA_ENUM)
#undef SL_ISA_ENUM
        SL_ISA_COUNT
} sl_isa;

const char *sl_isa_name(sl_isa isa);

/* The best one that CPU and operating system allow, no matter whether kernels exist.
 * avx2 asks for AVX2, FMA and F16C together. amx: Linux gave this process, all its threads, leave to use tile
 * registers, which this call asks for; refused, it is avx512. */
sl_isa sl_cpu_isa(void);

/* The ceiling that the environment sets: SLUICE_CPU=scalar|avx2|avx512|amx, default the
 * CPU's best. SL_EINVAL for another word, or for one that the CPU lacks. */
sl_status sl_cpu_isa_ceiling(sl_isa *out, sl_err *err);

/* Whether memory is read fastest in several streams at a time, which the CPU's own prefetchers follow, each of them
 * further ahead than they follow one alone; else in one, which is asked for before its use. SLUICE_STREAMS=one|several,
 * default: what was measured on such a CPU (docs/speed-log.md), one on others. SL_EINVAL for another word. */
sl_status sl_cpu_several_streams(bool *out, sl_err *err);

/* Ask for the cache line at p, which need not be readable. */
static inline void sl_cpu_prefetch(const void *p)
{
    __builtin_prefetch(p);
}
/* Likewise for n bytes from p on: the lines of p, p + 64 and so on. */
static inline void sl_cpu_prefetch_bytes(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i += 64)
        sl_cpu_prefetch((const char *)p + i);
}

/* ---- what this process may use ------------------------------------------------- */

/* CPUs by number; Linux on x86 counts up to 8192. */
#define SL_CPU_MAX 8192
typedef struct sl_cpu_set {
    uint64_t bits[SL_CPU_MAX / 64];
} sl_cpu_set;

static inline bool sl_cpu_set_has(const sl_cpu_set *set, size_t cpu)
{
    return cpu < SL_CPU_MAX && (set->bits[cpu / 64] >> cpu % 64 & 1);
}
static inline void sl_cpu_set_add(sl_cpu_set *set, size_t cpu)
{
    set->bits[cpu / 64] |= (uint64_t)1 << cpu % 64;
}
size_t sl_cpu_set_count(const sl_cpu_set *set);

#define SL_CPU_NO_QUOTA SIZE_MAX

/* From the calling thread's affinity mask (in which the cgroup's cpuset is), the cgroup's CPU quota (v1 or v2) and
 * the description of cores. Work of equal shares waits for the slowest thread, so each gets a whole core of its own. */
typedef struct sl_cpu_use {
    size_t n_online;    /* CPUs of the machine; 0: unknown */
    size_t n_cpus;      /* in the mask */
    size_t n_cores;     /* physical ones behind them */
    size_t n_fast;      /* of these, those not far slower than the fastest; all where cores are alike */
    size_t quota_milli; /* thousandths of a CPU, or SL_CPU_NO_QUOTA */
    size_t n_threads;   /* what to start: fast cores, at most the quota rounded down; at least 1 */
    sl_cpu_set cores;   /* one CPU of each fast core */
} sl_cpu_use;

void sl_cpu_get_use(sl_cpu_use *out);
/* Its n_threads. */
size_t sl_cpu_threads(void);
/* "4 threads: the cgroup's quota is 4.5 CPUs, of 8 cores" - and what speaks for it. */
void sl_cpu_use_text(const sl_cpu_use *use, char *out, size_t size);

typedef struct sl_cpu_info {
    char model[64];                       /* from /proc/cpuinfo; "unknown" elsewhere */
    size_t l1d_bytes, l2_bytes, l3_bytes; /* of one core; 0: unknown */
    size_t memory_bytes;                  /* physical, or the cgroup's limit if lower */
} sl_cpu_info;

void sl_cpu_describe(sl_cpu_info *out);
size_t sl_cpu_l2_bytes(void); /* its l2_bytes, without the rest */

#endif
