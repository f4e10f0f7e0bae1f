/*
 * What happens to tasks, as the event subsystem must hear of it. Tasks are slot numbers. Every function may be called
 * on any member, takes event_lock() itself and blocks on nothing else.
 *
 * A task's life:
 *
 *	event_task_fork()	by the parent, before the child can run
 *	event_task_forked()	by parent and child
 *	event_task_exec()	any number of times
 *	event_task_exit()	by the task itself, as late as possible, or by another member that has found it dead:
 *				its cells and the host's clocks are final by then. By both, too: the first call counts
 */
#ifndef EVENT_TASK_H
#define EVENT_TASK_H

#include "event/event.h"

struct sideband_namespaces;

/*
 * child: a slot whose generation is set and whose cells and clocks stand at 0. clone_flags as in clone(2): CLONE_FILES,
 * CLONE_THREAD and CLONE_CLEAR_SIGHAND matter. Inherited events count from the child's first instruction, if it
 * calls event_task_moved() before that. 0, or -ENOMEM: the child must not come to be, nothing is left of it here.
 */
int event_task_fork(task_id parent, task_id child, u64 clone_flags);
/*
 * The child exists and its kernel ids are known: the records FORK and, where ns is not NULL, NAMESPACES. Called in the
 * child before it runs guest code and in the parent when it has the child's id: the first one does it, and until then
 * event_task_forking() is the parent. Returns the parent, if this was the first, else 0.
 */
task_id event_task_forked(task_id child, u32 generation, const struct sideband_namespaces *ns);
task_id event_task_forking(task_id child);

/*
 * The point of no return of execve in the thread that remains: enable_on_exec, remove_on_exec. See also
 * event_files_exec().
 */
void event_task_exec(task_id task);

/* The task has ended, or the clone failed after event_task_fork(). */
void event_task_exit(task_id task);

/*
 * On entering the runtime, and after a system call: counts of CPU-bound events go to the CPU that the task is on now.
 * What it executed since it was asked last goes to the CPU that it was on then, so that the sum over the CPUs stays
 * exact.
 */
void event_task_moved_slow(task_id task);
static inline void event_task_moved(task_id task)
{
	if (unlikely(event_is_followed(task)))
		event_task_moved_slow(task);
}

/* It is not on the CPU where its events saw it last. */
bool event_task_is_elsewhere(task_id task);
static inline bool event_task_has_moved(task_id task)
{
	return unlikely(event_is_followed(task)) && event_task_is_elsewhere(task);
}

/* Events count the task, so that its final clock will be asked for. */
static inline bool event_task_counted(task_id task)
{
	return event_ctx(task)->events.first || event_ctx(task)->lineage;
}

/* True if the final host_task_count() of the task will be asked for; its final clock always may be. */
static inline bool event_task_measured(task_id task)
{
	return __atomic_load_n(&event_ctx(task)->measured, __ATOMIC_RELAXED) != 0;
}

#endif
