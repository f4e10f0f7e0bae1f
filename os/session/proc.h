/*
 * What the host's /proc says about threads, of other processes too. Not in a section: files are opened
 * (os/session/apart.h, os/session/facts.h). Ids are those of the launcher's pid namespace, and /proc is the one that
 * the launcher saw: the guest may have left both.
 */
#ifndef OS_PROC_H
#define OS_PROC_H

#include "abi/types.h"
#include "os/session/arena.h"
#include "os/session/process.h"

/*
 * To be named in openat() and the like; paths below it have no slash in front: "self/maps". Where anything is opened
 * that must be in apart_run().
 */
static inline s32 proc_dir(void)
{
	const struct thread *t = thread_current();

	if (unlikely(t && t->is_apart))
		return -100; /* AT_FDCWD */
	if (unlikely(t && t->has_left))
		return t->left_fd + PROC_FD;
	return __atomic_load_n(&the_process.runtime_fd, __ATOMIC_ACQUIRE) + PROC_FD;
}

/* The beginning of a file below /proc, or with an absolute path, terminated: its length, or -errno. */
long proc_read(const char *path, char *buf, size_t size);

/*
 * Ended, but known to the kernel: 1 or 0. -EACCES: another user's, so it cannot be told. Opens nothing: a thread that
 * ends gives up its directory, and a moment later it is a zombie.
 */
int proc_is_zombie(s32 pid, s32 tid);

struct proc_stat {
	char state;	 /* R S D Z X T t I */
	u64 minor, major; /* page faults */
	u64 start_time;	 /* ns since boot, a multiple of 10 ms */
	u64 cpu_time;	 /* ns, a multiple of 10 ms */
	u32 cpu;	 /* where it ran last */
	bool doomed;	 /* it exits, or has been killed */
};

/* /proc/PID/task/TID/stat: 0, or -errno. */
int proc_read_stat(s32 pid, s32 tid, struct proc_stat *out);
/*
 * kill() sent it SIGKILL, which stays pending for the process until it is waited for. A thread takes its own SIGKILL
 * off the pending ones a moment before its flags say that it exits: between the two only this tells.
 */
bool proc_is_killed(s32 pid, s32 tid);
/*
 * status: ids[0] are the process's and ids[1] the thread's, in the launcher's pid namespace and those below: how many,
 * or -errno.
 */
int proc_read_ids(s32 pid, s32 tid, s32 (*ids)[1 + PIDNS_DEPTH], u32 max);
/* schedstat: CPU time in ns. 0, or -errno. */
int proc_read_cpu_time(s32 pid, s32 tid, u64 *out);
/* status: voluntary and involuntary switches together. */
int proc_read_switches(s32 pid, s32 tid, u64 *out);
/* Of an entry in pagemap. */
#define PAGE_PRESENT (1ul << 63)
#define PAGE_SWAPPED (1ul << 62)
#define PAGE_OF_FILE (1ul << 61)
/* The caller has a page there. False, too, if the kernel does not tell. */
bool proc_has_page(gva addr);
/* sched: se.nr_migrations. -ENOENT if the kernel does not tell. */
int proc_read_migrations(s32 pid, s32 tid, u64 *out);

#endif
