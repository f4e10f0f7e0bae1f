/* See death.h. */
#include "os/session/death.h"

#include <linux/time_types.h>
#include "event/files.h"
#include "os/session/proc.h"
#include "os/session/session.h"
#include "perf/perf.h"
#include "rt/sys.h"

/* /proc tells start times in ticks of 10 ms. */
#define START_SLACK_NS 20000000ul
#define STEP_NS 100000u
#define MAX_NS 50000000u
#define MAX_DYING_NS 200000000u
#define MAX_LOOK_NS 20000000u /* a member may have written anything into the tables */

bool death_is_seen(const struct task *task)
{
	return !session_task_exists(task) || proc_is_zombie(task->pid, task->tid) == 1;
}

bool death_is_certain(const struct task *task)
{
	struct proc_stat st;

	if (death_is_seen(task))
		return true;
	if (proc_read_stat(task->pid, task->tid, &st))
		return false;
	return st.state == 'Z' || st.state == 'X' || st.start_time > task->start_time + START_SLACK_NS;
}

/* As those who wait for it see it: a moment later than death_is_seen(). */
static bool is_over(const struct task *task)
{
	struct proc_stat st;

	return proc_read_stat(task->pid, task->tid, &st) || st.state == 'Z' || st.state == 'X';
}

/*
 * Its end was told. The slot may be free already, and still says whose it was. A file is read only where it is needed.
 */
static bool is_dying(const struct task *task)
{
	u32 state = __atomic_load_n(&task->state, __ATOMIC_ACQUIRE);

	return (state == TASK_DEAD || state == TASK_FREE) && session_task_exists(task) &&
	       (!proc_is_zombie(task->pid, task->tid) || !is_over(task));
}

void death_await(u32 slot)
{
	static const struct __kernel_timespec pause = {0, STEP_NS};
	const struct task *task = arena_task(slot);

	for (u32 ns = 0; slot && is_dying(task) && ns < MAX_NS; ns += STEP_NS)
		sys2(__NR_nanosleep, &pause, 0);
}

/* It is on its way to its end, whatever it does: killed and not running yet, or in the kernel's exit. */
static bool is_doomed(const struct task *task)
{
	struct proc_stat st;

	return !proc_read_stat(task->pid, task->tid, &st) && (st.doomed || proc_is_killed(task->pid, task->tid));
}

static bool holds_left(u32 slot, s32 own_pid)
{
	const struct task *task = session_task(slot);

	return task && task->pid != own_pid && event_files_has_left(slot);
}

void death_of_holders_at_close(struct thread *t)
{
	static const struct __kernel_timespec pause = {0, STEP_NS};
	u64 end = host_clock_mono() + MAX_LOOK_NS + MAX_DYING_NS;
	u32 ns = 0;

	for (u32 slot = 1; slot < arena_tasks_high() && host_clock_mono() < end; slot++) {
		const struct task *task = arena_task(slot);

		if (!holds_left(slot, t->task->pid))
			continue;
		for (; !death_is_seen(task) && ns < MAX_DYING_NS && is_doomed(task); ns += STEP_NS)
			sys2(__NR_nanosleep, &pause, 0);
		session_task_gone(slot);
	}
	t->holders_next = 0;
}

void death_of_holders_slowly(struct thread *t)
{
	u64 now = host_clock_perf(), end = host_clock_mono() + MAX_LOOK_NS;

	if (t->holders_next && now < t->holders_next)
		return;
	t->holders_slice = t->holders_next ? perf_next_slice(t->holders_slice) : PERF_FAR_SLICE;
	t->holders_next = now + (u64)t->holders_slice;
	for (u32 slot = 1; slot < arena_tasks_high() && host_clock_mono() < end; slot++)
		if (holds_left(slot, t->task->pid))
			session_task_gone(slot);
}
