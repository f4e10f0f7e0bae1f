/*
 * What os/ tells of the guest's tasks to those who want side-band records: event/sideband.h. Everything here costs one
 * look at two words while nobody wants to hear of it.
 *
 * Called by the thread that it happens to, without locks, after it has happened.
 *
 *   os/tell.c      names, relations, namespaces, cgroups, switches
 *   os/tell_map.c  mappings
 */
#ifndef OS_TELL_H
#define OS_TELL_H

#include "event/sideband.h"
#include "os/load.h"
#include "os/thread.h"

static inline bool tell_wanted(const struct thread *t, u32 what)
{
	return unlikely(sideband_wanted(t->cpu->slot, what));
}

/* The whole mapping around `at`, which is new or has grown. fd: its file where one is at hand, else -1. */
void tell_mapped_slowly(struct thread *t, gva at, int fd);
static inline void tell_mapped(struct thread *t, gva at, int fd)
{
	if (tell_wanted(t, SB_MMAP | SB_MMAP_DATA))
		tell_mapped_slowly(t, at, fd);
}

/*
 * mprotect makes a record for each piece that changes, as large as it is once joined with what comes before. Before the
 * change, with vma_lock(): the pieces of [start, end) that do not have that protection yet; after it, without: the
 * records.
 */
#define TELL_PIECES 16
struct tell_pieces {
	u32 n;
	gva start[TELL_PIECES];
};
void tell_find_pieces_locked(struct thread *t, gva start, gva end, u32 prot, struct tell_pieces *out);
void tell_protected(struct thread *t, const struct tell_pieces *pieces);

/* A new program: its name, then what the loader has mapped, in the loader's order. */
void tell_exec(struct thread *t, const struct load_result *loaded);

/* The calling thread was given the name in its slot. */
static inline void tell_comm(struct thread *t)
{
	if (tell_wanted(t, SB_COMM))
		sideband_comm(t->cpu->slot, t->cpu->slot, t->task->comm, false);
}

/* size bytes were written: a name, if the file is /proc/PID/comm or /proc/PID/task/TID/comm. */
#define TELL_COMM_WRITE 64 /* bytes; longer texts are no names */
void tell_written_slowly(struct thread *t, s32 fd);
static inline void tell_written(struct thread *t, s32 fd, u64 size)
{
	if (tell_wanted(t, SB_COMM) && size <= TELL_COMM_WRITE)
		tell_written_slowly(t, fd);
}

/*
 * A task slot of that generation is this kernel thread: told by the child before it runs guest code and by the parent
 * when it has its id; what was told first counts.
 */
void tell_forked(u32 slot, u32 generation);

/* After unshare(2) and setns(2). */
void tell_namespaces(struct thread *t);

/* After mkdir(2): a cgroup, if that is what the directory is. */
void tell_mkdir_slowly(struct thread *t, s32 dirfd, gva path);
static inline void tell_mkdir(struct thread *t, s32 dirfd, gva path)
{
	if (tell_wanted(t, SB_CGROUP))
		tell_mkdir_slowly(t, dirfd, path);
}

/*
 * Context switches. User space sees none; the host counts them for each thread. Those found in the counts since the
 * thread was looked at last become pairs of records: voluntary ones, which happen in system calls, from `since` (when
 * the call began) to now; involuntary ones, found on entering the runtime, with PREEMPT, at this moment. since:
 * host_clock_perf(), 0: now.
 */
void tell_switches_slowly(struct thread *t, u64 since);
static inline void tell_switches(struct thread *t, u64 since)
{
	if (tell_wanted(t, SB_SWITCH))
		tell_switches_slowly(t, since);
	else
		t->switches.known = 0;
}
/* A new thread runs for the first time. */
void tell_first_switch(struct thread *t);

#endif
