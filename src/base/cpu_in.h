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
    bool amd;
    uint32_t leaf1_eax; /* family and model */
    uint32_t leaf1_ecx;
    uint32_t leaf7_ebx, leaf7_ecx, leaf7_edx; /* 0 where there is no leaf 7 */
    uint64_t xcr0;                            /* register state that the system saves; 0 without OSXSAVE */
} sl_cpuid;

/* ask_tiles is called where only the system's permission for tile registers is missing. */
sl_isa sl_cpu_isa_of(const sl_cpuid *id, bool (*ask_tiles)(void));
/* The ceiling that `text` names (NULL or empty: none) on a CPU whose best is `best`. */
sl_status sl_cpu_isa_parse(const char *text, sl_isa best, sl_isa *out, sl_err *err);

bool sl_cpu_several_of(const sl_cpuid *id);
/* What `text` says (NULL or empty: `usual`). */
sl_status sl_cpu_several_parse(const char *text, bool usual, bool *out, sl_err *err);

/* The affinity mask of the calling thread; CPU 0 alone where the system does not tell. */
void sl_cpu_affinity(sl_cpu_set *out);
/* Logical CPUs that can run threads of this process at the same time: the mask, at most the quota. */
size_t sl_cpu_logical(void);

/* `root` goes in front of /proc and /sys; "" is this machine. */
void sl_cpu_use_at(const char *root, const sl_cpu_set *mask, sl_cpu_use *out);
void sl_cpu_describe_at(const char *root, size_t cpu, sl_cpu_info *out); /* caches of that CPU */

#endif
