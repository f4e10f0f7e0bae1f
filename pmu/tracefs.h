/*
 * The session's tracefs: which tracepoints there are, and the layout of their records, as perf and others look for
 * them.
 *
 *   /sys/kernel/tracing/events/
 *     {syscalls,raw_syscalls}/NAME/{id,format}
 *     {sched,signal,task}/NAME/{id,format}        what happens to tasks, see pmu/tracepoint_task.h
 *     sched/{sched_switch,sched_wakeup}/format    described only: they cannot be opened
 *     ftrace/function/format                      the same, and ftrace is not listed: perf record looks into it
 *     {header_page,header_event}
 *   /sys/kernel/debug/tracing                     the same
 *   /debug/tracing                                the same, with the interface of 2009
 *
 *   /sys/kernel/tracing/available_events          SUBSYSTEM:NAME of those that can be opened
 *   /sys/kernel/tracing/{uprobe_events,uprobe_profile,README}           named probes, see pmu/probe_def.h
 *   /sys/kernel/tracing/events/GROUP/EVENT/{id,format,enable,filter}    theirs
 *
 * It is there whatever the host has, the same on all machines, and readable by everyone. There is nothing else in it:
 * no ftrace, so nothing can be enabled there, and no kprobes.
 *
 * Paths are absolute and normalised, as in pmu/sysfs.h.
 */
#ifndef PMU_TRACEFS_H
#define PMU_TRACEFS_H

#include "pmu/sysfs.h"

#define TRACEFS_TEXT (4u << 20) /* files are shorter, or cannot be read */
#define TRACEFS_NAME 64		/* names are shorter */

/* True if the path is tracefs or below it, whether or not it exists there. */
bool tracefs_has(const char *path);

enum pmu_node tracefs_find(const char *path);
/* Of a path that is not there: why not, if it is a file of a tracepoint that Linux has; else NULL. */
const char *tracefs_missing(const char *path);
/* The same of what is always there. */
bool tracefs_is_fixed(const char *path);
/* The permission bits of a file. */
u32 tracefs_mode(const char *path);
/* The path is uprobe_events. */
bool tracefs_is_uprobe_events(const char *path);
/* write(2) to another file: n, or why it cannot be. */
long tracefs_write(const char *path, const char *text, size_t n);

/*
 * A file's contents, terminated. The length, -ENOENT, or -EISDIR; size - 1 or more: they may have been cut off. size is
 * at least TRACEFS_TEXT.
 */
long tracefs_read(const char *path, char *buf, size_t size);

/* The index-th entry of a directory: what it is, and its name; PMU_NODE_NONE at the end. */
enum pmu_node tracefs_entry(const char *dir, u32 index, char name[TRACEFS_NAME]);

#endif
