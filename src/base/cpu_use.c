/* cpu_use.c - what this process may use of the machine: affinity mask, quota, cores, caches. */
#include "base/cpu.h"
#include "base/cpu_in.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup_in.h"
#include "base/num.h"
#include "base/proc_in.h"

void sl_cpu_affinity(sl_cpu_set *out)
{
    *out = (sl_cpu_set){ 0 };
    if (sched_getaffinity(0, sizeof *out, (cpu_set_t *)(void *)out) < 0)
        sl_cpu_set_add(out, 0);
}

size_t sl_cpu_set_count(const sl_cpu_set *set)
{
    size_t n = 0;
    for (size_t i = 0; i < SL_COUNT(set->bits); i++)
        n += (size_t)__builtin_popcountll(set->bits[i]);
    return n;
}

/* ---- cores -------------------------------------------------------------------------------- */

/* "0-3,8,10-11" (cpulists in the kernel's documentation); what is malformed ends the list. */
static void read_list(const char *p, sl_cpu_set *out)
{
    uint64_t from = 0, to = 0;
    *out = (sl_cpu_set){ 0 };
    while (sl_proc_number(&p, &from)) {
        to = from;
        if (*p == '-') {
            p++;
            if (!sl_proc_number(&p, &to))
                break;
        }
        for (uint64_t c = from; c <= to && c < SL_CPU_MAX; c++)
            sl_cpu_set_add(out, (size_t)c);
        if (*p != ',')
            break;
        p++;
    }
}

static bool read_list_at(const char *dir, const char *file, sl_cpu_set *out)
{
    char text[4096];
    if (!sl_proc_read(text, sizeof text, dir, file))
        return false;
    read_list(text, out);
    return true;
}

static void cpu_dir(char out[PATH_MAX], const char *root, size_t cpu, const char *below)
{
    snprintf(out, PATH_MAX, "%s/sys/devices/system/cpu/cpu%zu%s", root, cpu, below);
}

/* False where a CPU of the same core, in the mask and below `cpu`, stands for it. */
static bool is_first_of_core(const char *root, size_t cpu, const sl_cpu_set *mask)
{
    char dir[PATH_MAX];
    sl_cpu_set siblings;
    cpu_dir(dir, root, cpu, "/topology");
    if (!read_list_at(dir, "core_cpus_list", &siblings) &&
        !read_list_at(dir, "thread_siblings_list", &siblings)) /* before Linux 5.3 */
        return true;
    for (size_t c = 0; c < cpu; c++)
        if (sl_cpu_set_has(&siblings, c) && sl_cpu_set_has(mask, c))
            return false;
    return true;
}

/* How fast a core is beside the others: the scheduler's own figure where there is one, else its clock; 0: unknown. */
static size_t speed_of(const char *root, size_t cpu)
{
    char dir[PATH_MAX];
    cpu_dir(dir, root, cpu, "");
    const size_t capacity = sl_proc_size(dir, "cpu_capacity");
    if (capacity != SIZE_MAX)
        return capacity;
    const size_t khz = sl_proc_size(dir, "cpufreq/cpuinfo_max_freq");
    return khz == SIZE_MAX ? 0 : khz;
}

/* Leave in *cores those worth a thread. Work is shared out in tiles, but each barrier waits for the last of them, so
 * a core of half the speed costs more than it brings. Intel lists its performance cores; elsewhere a core counts
 * from three quarters of the fastest one's speed on: clocks of like cores differ by some per cent, those of Arm's
 * small cores and AMD's dense ones by far more. */
static void keep_fast(const char *root, sl_cpu_set *cores)
{
    char dir[PATH_MAX];
    sl_cpu_set listed, fast = { 0 };
    size_t best = 0;
    snprintf(dir, sizeof dir, "%s/sys/devices/cpu_core", root);
    const bool is_listed = read_list_at(dir, "cpus", &listed);
    for (size_t cpu = 0; cpu < SL_CPU_MAX && !is_listed; cpu++)
        if (sl_cpu_set_has(cores, cpu)) {
            const size_t speed = speed_of(root, cpu);
            best = SL_MAX(best, speed);
        }
    for (size_t cpu = 0; cpu < SL_CPU_MAX; cpu++)
        if (sl_cpu_set_has(cores, cpu) &&
            (is_listed ? sl_cpu_set_has(&listed, cpu) : speed_of(root, cpu) / 3 >= best / 4))
            sl_cpu_set_add(&fast, cpu);
    if (sl_cpu_set_count(&fast)) /* else only slow ones may be used */
        *cores = fast;
}

void sl_cpu_use_at(const char *root, const sl_cpu_set *mask, sl_cpu_use *out)
{
    char dir[PATH_MAX];
    sl_cpu_set online = { 0 };
    *out = (sl_cpu_use){ .n_cpus = sl_cpu_set_count(mask), .quota_milli = sl_cgroup_milli_cpus(root) };
    snprintf(dir, sizeof dir, "%s/sys/devices/system/cpu", root);
    if (read_list_at(dir, "online", &online))
        out->n_online = sl_cpu_set_count(&online);
    for (size_t cpu = 0; cpu < SL_CPU_MAX; cpu++)
        if (sl_cpu_set_has(mask, cpu) && is_first_of_core(root, cpu, mask))
            sl_cpu_set_add(&out->cores, cpu);
    out->n_cores = sl_cpu_set_count(&out->cores);
    keep_fast(root, &out->cores);
    out->n_fast = sl_cpu_set_count(&out->cores);
    out->n_threads = SL_MIN(out->n_fast, out->quota_milli / 1000);
    out->n_threads = SL_MAX(out->n_threads, (size_t)1);
}

void sl_cpu_get_use(sl_cpu_use *out)
{
    sl_cpu_set mask;
    sl_cpu_affinity(&mask);
    sl_cpu_use_at("", &mask, out);
}

size_t sl_cpu_threads(void)
{
    sl_cpu_use use;
    sl_cpu_get_use(&use);
    return use.n_threads;
}

void sl_cpu_use_text(const sl_cpu_use *u, char *out, size_t size)
{
    int n = snprintf(out, size, "%zu thread%s: ", u->n_threads, u->n_threads == 1 ? "" : "s");
    const size_t used = n > 0 && (size_t)n < size ? (size_t)n : 0;
    char cores[96];
    if (u->n_fast < u->n_cores)
        snprintf(cores, sizeof cores, "%zu fast of %zu cores", u->n_fast, u->n_cores);
    else if (u->n_cores < u->n_cpus)
        snprintf(cores, sizeof cores, "%zu core%s behind %zu CPUs", u->n_cores, u->n_cores == 1 ? "" : "s", u->n_cpus);
    else
        snprintf(cores, sizeof cores, "%zu core%s", u->n_cores, u->n_cores == 1 ? "" : "s");
    char mask[96] = "";
    if (u->n_cpus < u->n_online)
        snprintf(mask, sizeof mask, " (the affinity mask has %zu of %zu CPUs)", u->n_cpus, u->n_online);
    if (u->quota_milli / 1000 < u->n_fast)
        snprintf(out + used, size - used, "the cgroup's quota is %zu.%02zu CPUs, of %s%s", u->quota_milli / 1000,
                 u->quota_milli % 1000 / 10, cores, mask);
    else
        snprintf(out + used, size - used, "%s%s", cores, mask);
}

size_t sl_cpu_logical(void)
{
    sl_cpu_set mask;
    sl_cpu_affinity(&mask);
    const size_t cpus = sl_cpu_set_count(&mask), quota = sl_cgroup_milli_cpus("") / 1000;
    return SL_MAX(SL_MIN(cpus, quota), (size_t)1);
}

/* ---- description -------------------------------------------------------------------------- */

/* "48K", "32M" of one cache; instruction caches do not count. */
static void read_cache(const char *dir, sl_cpu_info *out)
{
    char level[16], type[32], size[32];
    if (!sl_proc_read(level, sizeof level, dir, "level") || !sl_proc_read(type, sizeof type, dir, "type") ||
        !sl_proc_read(size, sizeof size, dir, "size") || strncmp(type, "Instruction", 11) == 0)
        return;
    const char *p = size;
    uint64_t n = 0;
    if (!sl_proc_number(&p, &n) || n > UINT64_MAX >> 30)
        return;
    const size_t bytes = (size_t)n << (*p == 'K' ? 10 : *p == 'M' ? 20 : *p == 'G' ? 30 : 0);
    if (level[0] == '1')
        out->l1d_bytes = bytes;
    else if (level[0] == '2')
        out->l2_bytes = bytes;
    else if (level[0] == '3')
        out->l3_bytes = bytes;
}

#define CACHES_MAX 8 /* Linux lists three to five of a CPU */

static void read_caches(const char *root, size_t cpu, sl_cpu_info *out)
{
    for (size_t i = 0; i < CACHES_MAX; i++) {
        char dir[PATH_MAX], cache[32];
        snprintf(cache, sizeof cache, "/cache/index%zu", i);
        cpu_dir(dir, root, cpu, cache);
        read_cache(dir, out);
    }
}

void sl_cpu_describe_at(const char *root, size_t cpu, sl_cpu_info *out)
{
    char dir[PATH_MAX];
    *out = (sl_cpu_info){ .model = "unknown" };
    snprintf(dir, sizeof dir, "%s/proc", root);
    sl_proc_value(dir, "cpuinfo", "model name", out->model, sizeof out->model);
    const size_t physical = sl_proc_kib(dir, "meminfo", "MemTotal"), limit = sl_cgroup_memory(root);
    out->memory_bytes = physical == SIZE_MAX ? 0 : SL_MIN(physical, limit);
    read_caches(root, cpu, out);
}

static size_t system_value(int name)
{
    const long v = sysconf(name);
    return v > 0 ? (size_t)v : 0;
}

/* The first that this process may use. */
static size_t first_cpu(void)
{
    sl_cpu_set mask;
    sl_cpu_affinity(&mask);
    size_t cpu = 0;
    while (cpu + 1 < SL_CPU_MAX && !sl_cpu_set_has(&mask, cpu))
        cpu++;
    return cpu;
}

size_t sl_cpu_l2_bytes(void)
{
    sl_cpu_info info = { .l2_bytes = 0 };
    read_caches("", first_cpu(), &info);
    return info.l2_bytes ? info.l2_bytes : system_value(_SC_LEVEL2_CACHE_SIZE);
}

void sl_cpu_describe(sl_cpu_info *out)
{
    sl_cpu_describe_at("", first_cpu(), out);
    /* Where /sys does not list caches, the C library may know from CPUID. */
    if (out->l1d_bytes == 0)
        out->l1d_bytes = system_value(_SC_LEVEL1_DCACHE_SIZE);
    if (out->l2_bytes == 0)
        out->l2_bytes = system_value(_SC_LEVEL2_CACHE_SIZE);
    if (out->l3_bytes == 0)
        out->l3_bytes = system_value(_SC_LEVEL3_CACHE_SIZE);
    if (out->memory_bytes == 0)
        out->memory_bytes = system_value(_SC_PHYS_PAGES) * system_value(_SC_PAGESIZE);
}
