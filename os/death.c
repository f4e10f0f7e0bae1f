/* See death.h. */
#include "os/death.h"

#include <linux/time_types.h>
#include "os/proc.h"
#include "os/session.h"
#include "rt/sys.h"

/* /proc tells start times in ticks of 10 ms. */
#define START_SLACK_NS 20000000ul
#define STEP_NS 100000u
#define MAX_NS 50000000u

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

/* Its end was told. The slot may be free already, and still says whose it was. A file is read only where it is needed. */
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
