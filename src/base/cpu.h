/* cpu.h - what this machine can do, and what this process may use of it. */
#ifndef SL_BASE_CPU_H
#define SL_BASE_CPU_H

#include <stddef.h>
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
 * avx2 asks for AVX2, FMA and F16C together. */
sl_isa sl_cpu_isa(void);

/* The ceiling that the environment sets: SLUICE_CPU=scalar|avx2|avx512|amx, default the
 * CPU's best. SL_EINVAL for another word, or for one that the CPU lacks. */
sl_status sl_cpu_isa_ceiling(sl_isa *out, sl_err *err);

/* Threads that this process can really use: physical cores in the affinity mask, not
 * more than the cgroup (v1 or v2) quota rounded up; at least 1. */
size_t sl_cpu_threads(void);

/* Ask for the cache line at p, which need not be readable. */
static inline void sl_cpu_prefetch(const void *p)
{
    __builtin_prefetch(p);
}

typedef struct sl_cpu_info {
    char model[64];                       /* from /proc/cpuinfo; "unknown" elsewhere */
    size_t l1d_bytes, l2_bytes, l3_bytes; /* of one core; 0: unknown */
    size_t memory_bytes;                  /* physical, or the cgroup's limit if lower */
} sl_cpu_info;

void sl_cpu_describe(sl_cpu_info *out);

#endif
