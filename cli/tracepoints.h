/* The tracepoints that the session has, by its tracefs: for a process that is a guest. */
#ifndef CLI_TRACEPOINTS_H
#define CLI_TRACEPOINTS_H

#include <stdbool.h>
#include "abi/types.h"
#include "cli/nearest.h"

/*
 * Calls see() for each tracepoint of the group whose name matches the pattern of a shell, in order; its result other
 * than 0 is the end, and is returned. All names of the group are tried for *nearest, which keeps one. -1: there is no
 * such group.
 */
int tracepoints_each(const char *group, const char *pattern, struct nearest *nearest,
		     int (*see)(void *arg, const char *name, u64 id), void *arg);

/* Whether a tracepoint, GROUP:NAME, happens in kernel mode: all but those of one system call, and uprobes. */
bool tracepoints_is_of_kernel(const char *name);

#endif
