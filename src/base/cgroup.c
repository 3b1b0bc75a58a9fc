#include "base/cgroup_in.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/proc_in.h"

typedef size_t limit_reader(const char *dir); /* SIZE_MAX: this group sets none */

static size_t milli_cpus(uint64_t quota, uint64_t period)
{
    if (period == 0 || quota == 0 || quota > UINT64_MAX / 1000)
        return SIZE_MAX;
    return (size_t)(quota * 1000 / period);
}

static size_t quota_v2(const char *dir)
{
    char text[128];
    const char *p = text;
    uint64_t quota = 0, period = 0;
    if (!sl_proc_read(text, sizeof text, dir, "cpu.max") || !sl_proc_number(&p, &quota) || *p++ != ' ' ||
        !sl_proc_number(&p, &period)) /* "max 100000" stops at its first letter */
        return SIZE_MAX;
    return milli_cpus(quota, period);
}

static size_t quota_v1(const char *dir)
{
    const size_t quota = sl_proc_size(dir, "cpu.cfs_quota_us"), period = sl_proc_size(dir, "cpu.cfs_period_us");
    return quota == SIZE_MAX || period == SIZE_MAX ? SIZE_MAX : milli_cpus(quota, period); /* quota -1: none */
}

/* Above memory.high the kernel slows the group down until it gives memory back: as good as a limit. */
static size_t memory_v2(const char *dir)
{
    const size_t max = sl_proc_size(dir, "memory.max"), high = sl_proc_size(dir, "memory.high");
    return SL_MIN(max, high);
}

static size_t memory_v1(const char *dir)
{
    return sl_proc_size(dir, "memory.limit_in_bytes");
}

static size_t stat_bytes(const char *dir, const char *key)
{
    char text[64];
    const char *p = text;
    uint64_t n = 0;
    return sl_proc_value(dir, "memory.stat", key, text, sizeof text) && sl_proc_number(&p, &n) ? (size_t)n : 0;
}

static size_t left_of(size_t limit, size_t used, size_t active_file, size_t inactive_file)
{
    size_t files = 0;
    if (limit == SIZE_MAX || used == SIZE_MAX)
        return limit;
    if (!sl_add_ok(active_file, inactive_file, &files))
        files = 0;
    used -= SL_MIN(files, used);
    return limit - SL_MIN(used, limit);
}

static size_t left_v2(const char *dir)
{
    return left_of(memory_v2(dir), sl_proc_size(dir, "memory.current"), stat_bytes(dir, "active_file"),
                   stat_bytes(dir, "inactive_file"));
}

static size_t left_v1(const char *dir)
{
    return left_of(memory_v1(dir), sl_proc_size(dir, "memory.usage_in_bytes"), stat_bytes(dir, "total_active_file"),
                   stat_bytes(dir, "total_inactive_file"));
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

static size_t lowest(const char *root, const char *controller, limit_reader *v1, limit_reader *v2)
{
    char text[16384]; /* a line for each hierarchy, of which there are about a dozen */
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/proc/self", root);
    if (!sl_proc_read(text, sizeof text, dir, "cgroup"))
        return SIZE_MAX;
    size_t least = SIZE_MAX;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const size_t limit = lowest_of_line(root, line, controller, v1, v2);
        least = SL_MIN(least, limit);
    }
    return least;
}

size_t sl_cgroup_milli_cpus(const char *root)
{
    return lowest(root, "cpu", quota_v1, quota_v2);
}

size_t sl_cgroup_memory(const char *root)
{
    return lowest(root, "memory", memory_v1, memory_v2);
}

size_t sl_cgroup_memory_left(const char *root)
{
    return lowest(root, "memory", left_v1, left_v2);
}
