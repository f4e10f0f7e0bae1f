/*
 * Pid namespaces inside a session.
 *
 * A task has a process id and a thread id in its own pid namespace and in each one around it. task->pid and task->tid
 * are those of the launcher's namespace: every member is in it or below it, so they name a task for all of pcl. Those
 * of the namespaces below are in task->inner. A namespace is known by the inode number of its file in /proc/PID/ns; the
 * launcher's is 0.
 *
 * The kernel tells a thread only the ids of its own namespace, and takes only such ids. PROC_FD, the launcher's /proc,
 * knows the others, and is asked about them: it needs no /proc in the guest's tree. A task that is not in the caller's
 * namespace or below cannot be sent a signal.
 */
#ifndef OS_PIDNS_H
#define OS_PIDNS_H

#include "os/session/arena.h"

/* PROC_FD shows all processes of the launcher's namespace. Without it there can be no other namespaces. */
bool pidns_usable(void);
#define PIDNS_UNUSABLE "a pid namespace while /proc was not there, or hid processes, when the session began"

/* The ids of the calling thread in the launcher's namespace. */
void pidns_self(s32 *pid, s32 *tid);
/* The calling thread's ids, as it sees them, into its slot, which begins as a copy of its creator's. Takes no lock. */
void pidns_begin(struct task *task, s32 pid, s32 tid);

/* The caller's own namespace. */
u32 pidns_own(void);
/* The task's ids in its own namespace; NULL: that is the launcher's. */
static inline const struct pidns_ids *pidns_inner(const struct task *task)
{
	u32 depth = __atomic_load_n(&task->depth, __ATOMIC_RELAXED);

	return depth ? &task->inner[MIN(depth, PIDNS_DEPTH) - 1] : NULL;
}

static inline u32 pidns_of(const struct task *task)
{
	const struct pidns_ids *inner = pidns_inner(task);

	return inner ? inner->ns : 0;
}

/* The task's ids in a namespace; false, and zeroes: it is not visible there. */
bool pidns_ids_slowly(const struct task *task, u32 ns, s32 *pid, s32 *tid);
static inline bool pidns_ids(const struct task *task, u32 ns, s32 *pid, s32 *tid)
{
	if (unlikely(ns))
		return pidns_ids_slowly(task, ns, pid, tid);
	*pid = task->pid;
	*tid = task->tid;
	return true;
}

/* The thread with those ids of the launcher's namespace exists, a zombie too. */
bool pidns_exists(s32 pid, s32 tid);

#endif
