#include "base/pages.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/proc_in.h"
#include "base/str.h"

#define HUGE_2MIB (21 << 26) /* MAP_HUGE_2MB */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* since Linux 5.14 */
#endif
#define POLICY_PREFER 1 /* mbind(2): MPOL_PREFERRED, MPOL_INTERLEAVE */
#define POLICY_SPREAD 3

/* ---- nodes ---------------------------------------------------------------------- */

static const char *nodes_root = "";

void sl_nodes_pretend(const char *root)
{
    nodes_root = root ? root : "";
}

/* The numbers of "0-3,8,10-11" in order, at most `max`; what is malformed ends the list. */
static size_t read_numbers(const char *p, size_t *out, size_t max)
{
    size_t n = 0;
    uint64_t from = 0, to = 0;
    while (n < max && sl_proc_number(&p, &from)) {
        to = from;
        if (*p == '-') {
            p++;
            if (!sl_proc_number(&p, &to))
                break;
        }
        for (uint64_t i = from; i <= to && n < max; i++)
            out[n++] = (size_t)i;
        if (*p != ',')
            break;
        p++;
    }
    return n;
}

static size_t node_numbers(size_t out[SL_NODES_MAX])
{
    char dir[PATH_MAX], text[1024];
    snprintf(dir, sizeof dir, "%s/sys/devices/system/node", nodes_root);
    out[0] = 0;
    return sl_proc_read(text, sizeof text, dir, "has_memory") ? SL_MAX(read_numbers(text, out, SL_NODES_MAX), 1u) : 1;
}

size_t sl_nodes(void)
{
    size_t number[SL_NODES_MAX];
    return node_numbers(number);
}

size_t sl_node_of_cpu(size_t cpu)
{
    size_t number[SL_NODES_MAX];
    const size_t n = node_numbers(number);
    for (size_t i = 0; i < n; i++) {
        char dir[PATH_MAX];
        snprintf(dir, sizeof dir, "%s/sys/devices/system/cpu/cpu%zu/node%zu", nodes_root, cpu, number[i]);
        if (access(dir, F_OK) == 0)
            return i;
    }
    return 0;
}

static bool bind_range(void *p, size_t bytes, int policy, const unsigned long *mask)
{
    return syscall(SYS_mbind, p, bytes, policy, mask, sizeof(unsigned long) * CHAR_BIT + 1, 0) == 0;
}

bool sl_pages_prefer_node(void *p, size_t bytes, size_t i)
{
    size_t number[SL_NODES_MAX];
    if (i >= node_numbers(number) || number[i] >= sizeof(unsigned long) * CHAR_BIT)
        return false;
    const unsigned long mask = 1UL << number[i];
    return bind_range(p, bytes, POLICY_PREFER, &mask);
}

static bool spread(void *p, size_t bytes)
{
    size_t number[SL_NODES_MAX];
    unsigned long mask = 0;
    const size_t n = node_numbers(number);
    for (size_t i = 0; i < n; i++)
        if (number[i] < sizeof mask * CHAR_BIT)
            mask |= 1UL << number[i];
    return n < 2 || bind_range(p, bytes, POLICY_SPREAD, &mask);
}

/* ---- blocks --------------------------------------------------------------------- */

static sl_status ask_transparent(const sl_pages *p, sl_err *err)
{
    static const char dir[] = "/sys/kernel/mm/transparent_hugepage";
    char text[128];
    if (!sl_proc_read(text, sizeof text, dir, "enabled") || strstr(text, "[never]"))
        return sl_fail(err, SL_EUNSUPPORTED,
                       "transparent huge pages are switched off here (%s/enabled says never, or is not there)", dir);
    if (madvise(p->data, p->bytes, MADV_HUGEPAGE))
        return sl_fail(err, SL_EUNSUPPORTED, "transparent huge pages: %s", strerror(errno));
    return SL_OK;
}

/* Over a part of the map, so that unmapping is the same for all. */
static sl_status take_explicit(const sl_pages *p, sl_err *err)
{
    if (mmap(p->data, p->bytes, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | HUGE_2MIB, -1, 0) == MAP_FAILED) {
        const size_t left = sl_proc_size("/sys/kernel/mm/hugepages/hugepages-2048kB", "free_hugepages");
        const size_t n = p->bytes / SL_HUGE_BYTES;
        return sl_fail(
            err, SL_EUNSUPPORTED,
            "%zu huge page%s of 2 MiB %s needed, the system has %zu free (sysctl vm.nr_hugepages makes more)", n,
            n == 1 ? "" : "s", n == 1 ? "is" : "are", left == SIZE_MAX ? (size_t)0 : left);
    }
    return SL_OK;
}

static sl_status cannot_lock(size_t bytes, sl_err *err)
{
    const int why = errno;
    struct rlimit l = { 0 };
    getrlimit(RLIMIT_MEMLOCK, &l);
    if (l.rlim_cur == RLIM_INFINITY)
        return sl_fail(err, why == ENOMEM ? SL_ENOMEM : SL_EUNSUPPORTED, "locking %s in memory: %s",
                       sl_bytes_text(bytes).text, strerror(why));
    return sl_fail(err, SL_EUNSUPPORTED, "locking %s in memory: %s; this process may lock %s (ulimit -l)",
                   sl_bytes_text(bytes).text, strerror(why), sl_bytes_text((size_t)l.rlim_cur).text);
}

static sl_status prepare(const sl_pages *p, const sl_pages_how *how, sl_err *err)
{
    sl_status rc = SL_OK;
    if (how->huge == SL_HUGE_EXPLICIT)
        rc = take_explicit(p, err);
    else if (how->huge == SL_HUGE_THP)
        rc = ask_transparent(p, err);
    if (!rc && how->interleave && !spread(p->data, p->bytes))
        rc = sl_fail(err, SL_EUNSUPPORTED, "spreading over NUMA nodes: %s", strerror(errno));
    if (!rc && how->lock && mlock2(p->data, p->bytes, MLOCK_ONFAULT))
        rc = cannot_lock(p->bytes, err);
    return rc;
}

sl_status sl_pages_map(sl_pages *out, size_t bytes, const sl_pages_how *how, sl_err *err)
{
    static const sl_pages_how plain = { SL_HUGE_OFF };
    sl_pages p = { .bytes = bytes };
    *out = (sl_pages){ 0 };
    how = how ? how : &plain;
    if (bytes > SIZE_MAX - 2 * SL_HUGE_BYTES)
        return sl_fail(err, SL_ENOMEM, "%zu bytes are more than the address space", bytes);
    if (how->huge != SL_HUGE_OFF)
        p.bytes = sl_round_up(bytes, SL_HUGE_BYTES);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), guard_at = sl_round_up(p.bytes, page);
    p.map_bytes = guard_at + page + (how->huge == SL_HUGE_OFF ? 0 : SL_HUGE_BYTES);
    p.map = sl_mem_map(p.map_bytes);
    if (!p.map)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu bytes", bytes);
    p.data = how->huge == SL_HUGE_OFF ? p.map : (char *)p.map + (-(uintptr_t)p.map & (SL_HUGE_BYTES - 1));
    /* Nobody's page behind the block: the kernel then never joins it with a neighbour, whose pages would be measured
     * and locked with it. */
    sl_status rc = SL_OK;
    if (mprotect((char *)p.data + guard_at, page, PROT_NONE))
        rc = sl_fail(err, SL_ENOMEM, "no memory for %zu bytes: %s", bytes, strerror(errno));
    if (!rc)
        rc = prepare(&p, how, err);
    if (rc)
        sl_pages_unmap(&p);
    else
        *out = p;
    return rc;
}

void sl_pages_unmap(sl_pages *p)
{
    sl_mem_unmap(p->map, p->map_bytes);
    *p = (sl_pages){ 0 };
}

/* ---- of mapped files ------------------------------------------------------------- */

/* Whole pages that hold the range. */
static bool advise(const void *p, size_t bytes, int advice)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)p & ~(page - 1);
    return madvise((void *)begin, (uintptr_t)p + bytes - begin, advice) == 0;
}

void sl_pages_ask_huge(void *map, size_t bytes)
{
    if (bytes >= SL_HUGE_BYTES)
        advise(map, bytes, MADV_HUGEPAGE); /* refused: as they are, which sl_pages_measure tells */
}

void sl_pages_evict(const void *p, size_t bytes)
{
    if (!advise(p, bytes, MADV_PAGEOUT))
        advise(p, bytes, MADV_DONTNEED); /* of this process only */
}

void sl_pages_touch(const void *p, size_t bytes)
{
    if (advise(p, bytes, MADV_POPULATE_READ) || madvise(NULL, 0, MADV_POPULATE_READ) == 0)
        return; /* a kernel that knows it has brought in all that can be read */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < bytes; i += page)
        (void)*((const volatile char *)p + i);
}

sl_status sl_pages_lock(const void *p, size_t bytes, sl_err *err)
{
    return mlock(p, bytes) ? cannot_lock(bytes, err) : SL_OK;
}

/* ---- what became of it ------------------------------------------------------------ */

/* Pages of each node in a line "55a0 default anon=3 N0=2 N1=1 kernelpagesize_kB=4". */
static void add_nodes(char *line, sl_pages_use *out)
{
    size_t number[SL_NODES_MAX], pages[SL_NODES_MAX] = { 0 }, kib = 4;
    const size_t n = node_numbers(number);
    char *rest = line;
    for (char *word; (word = strsep(&rest, " \n"));) {
        size_t node = 0, count = 0;
        if (sscanf(word, "N%zu=%zu", &node, &count) == 2) {
            for (size_t i = 0; i < n; i++)
                pages[i] += number[i] == node ? count : 0;
        } else
            (void)sscanf(word, "kernelpagesize_kB=%zu", &kib);
    }
    for (size_t i = 0; i < n; i++)
        out->node[i] += pages[i] * kib << 10;
}

/* A mapping that reaches beyond the range counts as a whole in smaps: its share of the range is taken. */
void sl_pages_measure(const void *p, size_t bytes, sl_pages_use *out)
{
    const uintptr_t begin = (uintptr_t)p, end = begin + bytes;
    char line[1024];
    uintptr_t from = 0, to = 0;
    bool inside = false;
    *out = (sl_pages_use){ 0 };
    FILE *f = fopen("/proc/self/smaps", "re");
    while (f && fgets(line, sizeof line, f)) {
        size_t kib = 0;
        char key[32];
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = from < end && to > begin;
        else if (inside && sscanf(line, "%31[^:]: %zu kB", key, &kib) == 2) {
            const size_t most = SL_MIN(to, end) - SL_MAX(from, begin), n = SL_MIN(kib << 10, most);
            const bool hugetlb = strcmp(key, "Private_Hugetlb") == 0;
            out->resident += strcmp(key, "Rss") == 0 || hugetlb ? n : 0;
            out->huge += hugetlb || strcmp(key, "AnonHugePages") == 0 || strcmp(key, "FilePmdMapped") == 0 ? n : 0;
            out->locked += strcmp(key, "Locked") == 0 ? n : 0;
        }
    }
    if (f)
        fclose(f);
    f = fopen("/proc/self/numa_maps", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx ", &from) == 1 && from >= begin && from < end)
            add_nodes(line, out);
    if (f)
        fclose(f);
}
