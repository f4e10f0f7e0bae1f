/*
 * SIGKILL from inside the session. Its victim cannot say its last clocks and counts itself, and /proc forgets them with
 * it: what they are is noted in its slot just before. What the cells have counted needs nothing: they are in the arena.
 *
 * A SIGKILL from outside the session, or of the out-of-memory killer, leaves what was read last.
 */
#include <asm/signal.h>
#include "event/task.h"
#include "os/session/pidns.h"
#include "os/session/session.h"
#include "os/syscall.h"

/* With the first process of a pid namespace all others that are in it are killed. */
static bool is_victim(const struct thread *t, const struct task *task, s32 tgid)
{
	s32 pid, tid;

	if (!tgid || task->depth > t->task->depth)
		return true;
	return pidns_ids(task, pidns_of(t->task), &pid, &tid) && pid == tgid;
}

/* tgid 0: it could be any. */
static void before_kill(struct thread *t, s32 tgid)
{
	if (!event_space->opened)
		return;
	for (u32 slot = 1; slot < arena_tasks_high(); slot++) {
		struct task *task = session_task(slot);

		if (task && task != t->task && task->state == TASK_ALIVE && is_victim(t, task, tgid) &&
		    event_task_counted(slot))
			session_task_note(task);
	}
}

long sys_kill(struct thread *t, const u64 *a)
{
	if ((s32)a[1] == SIGKILL)
		before_kill(t, (s32)a[0] > 0 ? (s32)a[0] : 0);
	return syscall_pass(t, a);
}

/* A thread's id tells nothing of its group. */
long sys_tkill(struct thread *t, const u64 *a)
{
	if ((s32)a[1] == SIGKILL)
		before_kill(t, 0);
	return syscall_pass(t, a);
}

long sys_tgkill(struct thread *t, const u64 *a)
{
	if ((s32)a[2] == SIGKILL)
		before_kill(t, (s32)a[0]);
	return syscall_pass(t, a);
}

long sys_pidfd_send_signal(struct thread *t, const u64 *a)
{
	if ((s32)a[1] == SIGKILL)
		before_kill(t, 0);
	return syscall_pass(t, a);
}
