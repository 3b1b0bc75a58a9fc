/* cpu_use.c - what this process may use of the machine: affinity mask, cgroup limits, cores, caches.
 *
 * A cgroup's limit binds its children too, so every group from the process' own up to the root
 * counts. /proc/self/cgroup may name a path that this mount of /sys/fs/cgroup does not show (a
 * container without a namespace of its own: its own group is then the root of the mount); such
 * groups are passed over and the walk upward ends at that root. */
#include "base/cpu.h"
#include "base/cpu_in.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

void sl_cpu_affinity(sl_cpu_set *out)
{
    *out = (sl_cpu_set){ 0 };
    if (sched_getaffinity(0, sizeof *out, (cpu_set_t *)(void *)out) < 0)
        sl_cpu_set_add(out, 0);
}

static size_t set_count(const sl_cpu_set *set)
{
    size_t n = 0;
    for (size_t i = 0; i < SL_COUNT(set->bits); i++)
        n += (size_t)__builtin_popcountll(set->bits[i]);
    return n;
}

/* The beginning of a small file, terminated; false where there is none. */
static bool read_text(const char *path, char *buf, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t n = 0;
    while (used < size - 1 && ((n = read(fd, buf + used, size - 1 - used)) > 0 || (n < 0 && errno == EINTR)))
        used += n > 0 ? (size_t)n : 0;
    close(fd);
    buf[used] = '\0';
    return n >= 0;
}

static bool read_at(char *buf, size_t size, const char *dir, const char *file)
{
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", dir, file);
    return n > 0 && (size_t)n < sizeof path && read_text(path, buf, size);
}

/* A number at *text, which then stands behind it; false where there is none. */
static bool take_number(const char **text, uint64_t *out)
{
    char *end = NULL;
    if (**text < '0' || **text > '9')
        return false;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return true;
}

/* ---- cgroups ------------------------------------------------------------------------------ */

typedef size_t limit_reader(const char *dir); /* SIZE_MAX: this group sets none */

static size_t whole_cpus(uint64_t quota, uint64_t period)
{
    return period == 0 || quota == 0 ? SIZE_MAX : (size_t)(quota / period + (quota % period != 0));
}

static size_t quota_v2(const char *dir)
{
    char text[128];
    const char *p = text;
    uint64_t quota = 0, period = 0;
    if (!read_at(text, sizeof text, dir, "cpu.max") || !take_number(&p, &quota) || *p++ != ' ' ||
        !take_number(&p, &period)) /* "max 100000" stops at its first letter */
        return SIZE_MAX;
    return whole_cpus(quota, period);
}

static size_t quota_v1(const char *dir)
{
    char a[64], b[64];
    const char *p = a, *q = b;
    uint64_t quota = 0, period = 0;
    if (!read_at(a, sizeof a, dir, "cpu.cfs_quota_us") || !read_at(b, sizeof b, dir, "cpu.cfs_period_us") ||
        !take_number(&p, &quota) /* -1: none */ || !take_number(&q, &period))
        return SIZE_MAX;
    return whole_cpus(quota, period);
}

static size_t read_bytes(const char *dir, const char *file)
{
    char text[64];
    const char *p = text;
    uint64_t bytes = 0;
    return read_at(text, sizeof text, dir, file) && take_number(&p, &bytes) ? (size_t)bytes : SIZE_MAX;
}

static size_t memory_v2(const char *dir)
{
    return read_bytes(dir, "memory.max");
}

static size_t memory_v1(const char *dir)
{
    return read_bytes(dir, "memory.limit_in_bytes");
}

/* The lowest limit of mount + path, its parents, and the mount itself. */
static size_t lowest_up(const char *root, const char *mount, const char *path, limit_reader *read)
{
    char dir[PATH_MAX];
    const int base = snprintf(dir, sizeof dir, "%s/sys/fs/cgroup%s", root, mount);
    const int full = snprintf(dir, sizeof dir, "%s/sys/fs/cgroup%s%s", root, mount, path);
    if (full < 0 || (size_t)full >= sizeof dir)
        return SIZE_MAX;
    size_t lowest = read(dir);
    while (strlen(dir) > (size_t)base) {
        *strrchr(dir, '/') = '\0';
        const size_t limit = read(dir);
        lowest = SL_MIN(lowest, limit);
    }
    return lowest;
}

/* Whether a comma list holds a word. */
static bool lists(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    return false;
}

/* One line of /proc/self/cgroup, "number:controllers:path" (cgroups(7)); v2 is "0::path". A v1
 * hierarchy is mounted under its list of controllers, often with links by single names. */
static size_t lowest_of_line(const char *root, char *line, const char *controller, limit_reader *v1, limit_reader *v2)
{
    char *list = strchr(line, ':');
    char *colon = list ? strchr(list + 1, ':') : NULL;
    if (!colon)
        return SIZE_MAX;
    *colon = '\0';
    list++;
    const char *path = colon + 1;
    if (path[0] != '/' || strstr(path, "/..")) /* a group outside of our namespace: its mount is all we see */
        path = "/";
    size_t a, b;
    if (*list == '\0') {
        a = lowest_up(root, "", path, v2);
        b = lowest_up(root, "/unified", path, v2);
    } else if (lists(list, controller)) {
        char by_list[256], by_name[64];
        snprintf(by_list, sizeof by_list, "/%s", list);
        snprintf(by_name, sizeof by_name, "/%s", controller);
        a = lowest_up(root, by_list, path, v1);
        b = lowest_up(root, by_name, path, v1);
    } else
        return SIZE_MAX;
    return SL_MIN(a, b);
}

static size_t cgroup_limit(const char *root, const char *controller, limit_reader *v1, limit_reader *v2)
{
    char text[16384]; /* a line for each hierarchy, of which there are about a dozen */
    if (!read_at(text, sizeof text, root, "proc/self/cgroup"))
        return SIZE_MAX;
    size_t lowest = SIZE_MAX;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const size_t limit = lowest_of_line(root, line, controller, v1, v2);
        lowest = SL_MIN(lowest, limit);
    }
    return lowest;
}

size_t sl_cpu_quota_at(const char *root)
{
    return cgroup_limit(root, "cpu", quota_v1, quota_v2);
}

/* ---- cores -------------------------------------------------------------------------------- */

/* "0-3,8,10-11" (cpulists in the kernel's documentation). False where a CPU below `cpu` that the mask
 * holds is listed: that one stands for the core. */
static bool is_first_of_core(const char *siblings, size_t cpu, const sl_cpu_set *mask)
{
    const char *p = siblings;
    uint64_t from = 0, to = 0;
    while (take_number(&p, &from)) {
        to = from;
        if (*p == '-') {
            p++;
            if (!take_number(&p, &to))
                break;
        }
        for (uint64_t c = from; c <= to && c < cpu; c++)
            if (sl_cpu_set_has(mask, (size_t)c))
                return false;
        if (*p != ',')
            break;
        p++;
    }
    return true;
}

size_t sl_cpu_cores_at(const char *root, const sl_cpu_set *mask)
{
    size_t n = 0;
    for (size_t cpu = 0; cpu < SL_CPU_MAX; cpu++) {
        if (!sl_cpu_set_has(mask, cpu))
            continue;
        char dir[PATH_MAX], siblings[1024];
        const int len = snprintf(dir, sizeof dir, "%s/sys/devices/system/cpu/cpu%zu/topology", root, cpu);
        const bool known = len > 0 && (size_t)len < sizeof dir &&
                           (read_at(siblings, sizeof siblings, dir, "core_cpus_list") ||
                            read_at(siblings, sizeof siblings, dir, "thread_siblings_list")); /* before Linux 5.3 */
        n += !known || is_first_of_core(siblings, cpu, mask);
    }
    return n;
}

size_t sl_cpu_threads_at(const char *root, const sl_cpu_set *mask)
{
    const size_t cores = sl_cpu_cores_at(root, mask), quota = sl_cpu_quota_at(root);
    const size_t n = SL_MIN(cores, quota);
    return SL_MAX(n, (size_t)1);
}

size_t sl_cpu_threads(void)
{
    sl_cpu_set mask;
    sl_cpu_affinity(&mask);
    return sl_cpu_threads_at("", &mask);
}

size_t sl_cpu_logical(void)
{
    sl_cpu_set mask;
    sl_cpu_affinity(&mask);
    const size_t cpus = set_count(&mask), quota = sl_cpu_quota_at("");
    return SL_MIN(cpus, quota);
}

/* ---- description -------------------------------------------------------------------------- */

/* The value of the first line "key : value" of a file in /proc. */
static bool proc_value(const char *root, const char *file, const char *key, char *out, size_t size)
{
    char text[4096];
    if (!read_at(text, sizeof text, root, file))
        return false;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const size_t n = strlen(key);
        if (strncmp(line, key, n) != 0)
            continue;
        const char *p = line + n;
        p += strspn(p, " \t:");
        snprintf(out, size, "%s", p);
        return true;
    }
    return false;
}

/* "48K", "32M" of one cache; instruction caches do not count. */
static void read_cache(const char *dir, sl_cpu_info *out)
{
    char level[16], type[32], size[32];
    if (!read_at(level, sizeof level, dir, "level") || !read_at(type, sizeof type, dir, "type") ||
        !read_at(size, sizeof size, dir, "size") || strncmp(type, "Instruction", 11) == 0)
        return;
    const char *p = size;
    uint64_t n = 0;
    if (!take_number(&p, &n) || n > UINT64_MAX >> 30)
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

void sl_cpu_describe_at(const char *root, size_t cpu, sl_cpu_info *out)
{
    *out = (sl_cpu_info){ .model = "unknown" };
    proc_value(root, "proc/cpuinfo", "model name", out->model, sizeof out->model);
    for (size_t i = 0; i < CACHES_MAX; i++) {
        char dir[PATH_MAX];
        const int n = snprintf(dir, sizeof dir, "%s/sys/devices/system/cpu/cpu%zu/cache/index%zu", root, cpu, i);
        if (n > 0 && (size_t)n < sizeof dir)
            read_cache(dir, out);
    }
    char text[64];
    const char *p = text;
    uint64_t kib = 0;
    if (proc_value(root, "proc/meminfo", "MemTotal", text, sizeof text) && take_number(&p, &kib) &&
        kib <= UINT64_MAX >> 10)
        out->memory_bytes = (size_t)kib << 10;
    const size_t limit = cgroup_limit(root, "memory", memory_v1, memory_v2);
    if (limit < out->memory_bytes)
        out->memory_bytes = limit;
}

static size_t system_value(int name)
{
    const long v = sysconf(name);
    return v > 0 ? (size_t)v : 0;
}

void sl_cpu_describe(sl_cpu_info *out)
{
    sl_cpu_set mask;
    sl_cpu_affinity(&mask);
    size_t cpu = 0;
    while (cpu + 1 < SL_CPU_MAX && !sl_cpu_set_has(&mask, cpu))
        cpu++;
    sl_cpu_describe_at("", cpu, out);
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
