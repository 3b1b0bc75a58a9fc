/* pages.h - blocks of whole pages: how large the pages are, on which NUMA nodes, locked or not; and what became of it.
 *
 * The system may do less than it was asked for (no huge page free, a node full), so whoever asks also measures. */
#ifndef SL_BASE_PAGES_H
#define SL_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

#define SL_HUGE_BYTES ((size_t)2 << 20)

typedef enum sl_huge {
    SL_HUGE_OFF,      /* as the system does by itself */
    SL_HUGE_THP,      /* transparent ones, where the system has them */
    SL_HUGE_EXPLICIT, /* of 2 MiB, out of the pool that the administrator filled (vm.nr_hugepages) */
} sl_huge;

typedef struct sl_pages_how {
    sl_huge huge;
    bool lock;       /* a page that was touched stays in memory */
    bool interleave; /* over all NUMA nodes, page by page */
} sl_pages_how;

typedef struct sl_pages {
    void *data; /* NULL: empty; on a multiple of 2 MiB unless SL_HUGE_OFF */
    size_t bytes;
    void *map; /* what there is to unmap */
    size_t map_bytes;
} sl_pages;

/* Zero, not resident until touched. SL_ENOMEM; SL_EUNSUPPORTED: the system does not allow it, and what would help. */
sl_status sl_pages_map(sl_pages *out, size_t bytes, const sl_pages_how *how, sl_err *err);
void sl_pages_unmap(sl_pages *p); /* accepts an empty one */

/* Bring all pages of a range into memory and keep them. SL_EUNSUPPORTED with the limit that is in the way. */
sl_status sl_pages_lock(const void *p, size_t bytes, sl_err *err);

/* Of a mapped file that nobody has read through this mapping yet: what is read from now on comes in huge pages, as far
 * as the page cache has none of it, or has huge ones (Linux, file systems with large folios: ext4, XFS, btrfs). A page
 * that was once read as a small one stays so in this mapping. */
void sl_pages_ask_huge(void *map, size_t bytes);
/* Let go of pages of a mapped file, also in the page cache unless another process has them. */
void sl_pages_evict(const void *p, size_t bytes);
/* Bring a range into memory; what cannot be read (a file that was cut short) is left out. */
void sl_pages_touch(const void *p, size_t bytes);

#define SL_NODES_MAX 16
/* Nodes with memory, in order, at most SL_NODES_MAX; one where the system tells of none. */
size_t sl_nodes(void);
/* Its place in that order; 0 where it is unknown. */
size_t sl_node_of_cpu(size_t cpu);
/* Take the pages of a range from the i-th node, as long as it has some. False: the system refuses. */
bool sl_pages_prefer_node(void *p, size_t bytes, size_t i);
/* Tests only: nodes of the machine below `root` from now on; NULL: this one. */
void sl_nodes_pretend(const char *root);

/* Of a range, from /proc/self/smaps and numa_maps. */
typedef struct sl_pages_use {
    size_t resident, huge, locked;
    size_t node[SL_NODES_MAX];
} sl_pages_use;
void sl_pages_measure(const void *p, size_t bytes, sl_pages_use *out);

#endif
