/* room.h - what memory this process may still take. */
#ifndef SL_BASE_ROOM_H
#define SL_BASE_ROOM_H

#include <stddef.h>

/* Two kinds of room, since they are spent by different things: pages that are really there, and address space.
 * SIZE_MAX: no limit is known; then `..._by` is NULL. */
typedef struct sl_room {
    size_t resident;         /* bytes of pages; those of mapped files count as free, since the kernel can drop them */
    const char *resident_by; /* what sets it, for messages: "the cgroup's limit" */
    size_t address;          /* bytes that may be mapped beyond what is mapped now */
    const char *address_by;
} sl_room;

/* The machine's available memory and the cgroup's (v1, v2) limits less what is in use; the limits of address space
 * and data (setrlimit(2)), and of committed memory where the system promises no more than it has. Swap counts as
 * nothing: an engine that swaps is of no use. */
void sl_room_get(sl_room *out);

#endif
