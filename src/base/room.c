#include "base/room.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cgroup_in.h"
#include "base/num.h"
#include "base/proc_in.h"
#include "base/room_in.h"

static void lower(size_t *least, const char **by, size_t bytes, const char *what)
{
    if (bytes < *least) {
        *least = bytes;
        *by = what;
    }
}

static size_t less(size_t limit, size_t used)
{
    return limit == SIZE_MAX || used == SIZE_MAX ? limit : limit - SL_MIN(used, limit);
}

static size_t available(const char *proc)
{
    const size_t kernels = sl_proc_kib(proc, "meminfo", "MemAvailable"); /* since Linux 3.14 */
    return kernels != SIZE_MAX ? kernels : sl_proc_kib(proc, "meminfo", "MemTotal");
}

/* What the system may still promise, where it keeps its promises (vm.overcommit_memory 2). */
static size_t commit_left(const char *proc)
{
    if (sl_proc_size(proc, "sys/vm/overcommit_memory") != 2)
        return SIZE_MAX;
    return less(sl_proc_kib(proc, "meminfo", "CommitLimit"), sl_proc_kib(proc, "meminfo", "Committed_AS"));
}

void sl_room_at(const char *root, const sl_room_limits *limits, sl_room *out)
{
    char proc[PATH_MAX];
    *out = (sl_room){ .resident = SIZE_MAX, .address = SIZE_MAX };
    snprintf(proc, sizeof proc, "%s/proc", root);
    lower(&out->resident, &out->resident_by, available(proc), "the memory that is free");
    lower(&out->resident, &out->resident_by, sl_cgroup_memory_left(root), "what the cgroup's limit leaves");
    lower(&out->address, &out->address_by, less(limits->address, sl_proc_kib(proc, "self/status", "VmSize")),
          "what the limit of address space (ulimit -v) leaves");
    lower(&out->address, &out->address_by, less(limits->data, sl_proc_kib(proc, "self/status", "VmData")),
          "what the limit of data (ulimit -d) leaves");
    lower(&out->address, &out->address_by, commit_left(proc), "what the system may commit (vm.overcommit_memory)");
}

static size_t limit_of(int which)
{
    struct rlimit l;
    return getrlimit((__rlimit_resource_t)which, &l) == 0 && l.rlim_cur != RLIM_INFINITY ? (size_t)l.rlim_cur
                                                                                         : SIZE_MAX;
}

void sl_room_get(sl_room *out)
{
    const sl_room_limits limits = { limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA) };
    sl_room_at("", &limits, out);
}
