/* cpu_in.h - inside of cpu.c and cpu_use.c: the readers, apart from the machine they usually read,
 * so that tests can show them other machines. */
#ifndef SL_BASE_CPU_IN_H
#define SL_BASE_CPU_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cpu.h"

/* What CPUID and XGETBV say, as far as it matters. */
typedef struct sl_cpuid {
    uint32_t leaf1_ecx;
    uint32_t leaf7_ebx, leaf7_ecx, leaf7_edx; /* 0 where there is no leaf 7 */
    uint64_t xcr0;                            /* register state that the system saves; 0 without OSXSAVE */
} sl_cpuid;

sl_isa sl_cpu_isa_of(const sl_cpuid *id);
/* The ceiling that `text` names (NULL or empty: none) on a CPU whose best is `best`. */
sl_status sl_cpu_isa_parse(const char *text, sl_isa best, sl_isa *out, sl_err *err);

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

/* The affinity mask of the calling thread; CPU 0 alone where the system does not tell. */
void sl_cpu_affinity(sl_cpu_set *out);
/* Logical CPUs that can run threads of this process at the same time: the mask, at most the quota. */
size_t sl_cpu_logical(void);

/* `root` goes in front of /proc and /sys; "" is this machine. */
size_t sl_cpu_cores_at(const char *root, const sl_cpu_set *mask);        /* physical cores with a CPU in the mask */
size_t sl_cpu_quota_at(const char *root);                                /* rounded up to whole CPUs; SIZE_MAX: none */
size_t sl_cpu_threads_at(const char *root, const sl_cpu_set *mask);      /* see sl_cpu_threads */
void sl_cpu_describe_at(const char *root, size_t cpu, sl_cpu_info *out); /* caches of that CPU */

#endif
