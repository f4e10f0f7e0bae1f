/* The end of a thread with everything that belongs to it, and of its process: exit, exit_group. */
#include <asm/signal.h>
#include "event/space.h"
#include "event/task.h"
#include "os/kernel_writes.h"
#include "os/mm/warm.h"
#include "os/pin/pin.h"
#include "os/pin/turn.h"
#include "os/session/apart.h"
#include "os/session/own_faults.h"
#include "os/session/process.h"
#include "os/session/refusals.h"
#include "os/session/session.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/sys.h"

static void group_put(struct thread *t)
{
	if (__atomic_sub_fetch(&t->group->refs, 1, __ATOMIC_ACQ_REL) == 0)
		process_page_free(t->proc, t->group);
}

/* Of samples that are taken at the thread's end, and look at its stack. */
static u64 of_guest_memory(const struct thread *t)
{
	return event_task_measured(t->cpu->slot) ? SIG_BIT(SIGSEGV) | SIG_BIT(SIGBUS) : 0;
}

/* From strict mode it goes as if it were killed: those who wait for it find it gone, with its counts. */
long sys_exit(struct thread *t, const u64 *a)
{
	s32 status = (s32)a[0];

	if (unlikely(t->strict))
		thread_leave(status);
	own_faults_begin(t);
	kernel_writes_prepare_end(t);
	signal_host_mask(~(SIG_BIT(SIG_FENCE) | SIG_BIT(SIGSYS) | of_guest_memory(t)));
	__atomic_sub_fetch(&t->group->nr_threads, 1, __ATOMIC_ACQ_REL);
	pin_task_ends(t);
	if (event_task_measured(t->cpu->slot))
		apart_leave();
	session_task_end(t->task);
	signal_host_mask(~0ul);
	perf_thread_ends(t);
	sighand_put(t, t->sighand);
	group_put(t);
	thread_list_retire(t, t->tid);
	turn_ends(t);
	thread_leave(status);
}

long sys_exit_group(struct thread *t, const u64 *a)
{
	bool save;

	own_faults_begin(t);
	kernel_writes_prepare_end(t);
	signal_end_begins(t);
	refusals_last_word(t, (s32)a[0]);
	group_quiesce(t);
	save = warm_wants_save() && group_stop(t);
	if (event_space->opened || save)
		apart_leave();
	if (save)
		warm_save();
	pin_task_ends(t);
	session_group_end(t->task);
	for (;;)
		sys1(__NR_exit_group, (s32)a[0]);
}
