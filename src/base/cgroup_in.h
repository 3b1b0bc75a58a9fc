/* cgroup_in.h - what control groups leave to this process: CPU time and memory, versions 1 and 2.
 *
 * A group's limit binds its children too, so every group from the process' own up to the root counts.
 * /proc/self/cgroup may name a path that this mount of /sys/fs/cgroup does not show (a container without a
 * namespace of its own: its own group is then the root of the mount); such groups are passed over and the walk
 * upward ends at that root. Sources: cgroups(7); the kernel's admin-guide, cgroup-v1 and cgroup-v2. */
#ifndef SL_BASE_CGROUP_IN_H
#define SL_BASE_CGROUP_IN_H

#include <stddef.h>

/* Below `root` ("": this machine); SIZE_MAX: no limit. */
size_t sl_cgroup_milli_cpus(const char *root);  /* CPU time in thousandths of a CPU */
size_t sl_cgroup_memory(const char *root);      /* bytes that all processes of the group may have */
size_t sl_cgroup_memory_left(const char *root); /* of these, not in use; pages of files count as not in use, since
                                                 * the kernel gives them up first */

#endif
