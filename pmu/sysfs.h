/*
 * The files of the event subsystem as the guest sees them, made from pmu/events.def and the session's settings:
 *
 *   /sys/bus/event_source/devices/{cpu,software,breakpoint,tracepoint,uprobe}/...   (and the same under /sys/devices/)
 *   /proc/sys/kernel/perf_event_*
 *
 * Paths are absolute and normalised (no "..", no double slashes; one slash at the end is taken). All functions are
 * callable without locks; event_space_attach() must have been called.
 */
#ifndef PMU_SYSFS_H
#define PMU_SYSFS_H

#include "abi/types.h"

enum pmu_node { PMU_NODE_NONE, PMU_NODE_FILE, PMU_NODE_DIR };

#define PMU_SYSFS_TEXT 128 /* no file is longer */

/* What a path is; its permission bits in *mode (may be NULL). Quick for paths of no interest. */
enum pmu_node pmu_sysfs_find(const char *path, u32 *mode);

/* A file's contents, terminated. The length, -ENOENT, or -EISDIR. size is at least PMU_SYSFS_TEXT. */
long pmu_sysfs_read(const char *path, char *buf, size_t size);

/* write(2) to a file. n, -EACCES (not uid 0, or a file that cannot be written), -EINVAL, -EBUSY, -ENOENT. */
long pmu_sysfs_write(const char *path, const char *text, size_t n);

/* The index-th entry of a directory (without . and ..): what it is and its name; PMU_NODE_NONE at the end. */
enum pmu_node pmu_sysfs_entry(const char *dir, u32 index, const char **name);

#endif
