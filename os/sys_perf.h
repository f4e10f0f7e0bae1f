/*
 * Event descriptors in the guest's process: perf_event_open and what other system calls do with them. The handlers
 * themselves are named in os/syscalls.def.
 */
#ifndef OS_SYS_PERF_H
#define OS_SYS_PERF_H

#include "event/files.h"
#include "os/genuine.h"
#include "os/thread.h"

/* The descriptor is an event of this process. */
static inline bool perf_is_event(const struct thread *t, u64 fd)
{
	return event_files_lookup(t->cpu->slot, (u32)fd) && genuine_is((u32)fd);
}

/* In the new image after exec, before the guest runs: forgets the descriptors that exec closed. */
int perf_after_exec(struct thread *t);

#endif
