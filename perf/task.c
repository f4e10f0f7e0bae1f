/* A task's beginning and end, of all of perf/. See perf.h. */
#include "perf/breakpoints.h"
#include "perf/faults.h"
#include "perf/mmap.h"
#include "perf/perf.h"
#include "perf/timer.h"
#include "perf/uprobes.h"

void perf_before_fork(void)
{
	uprobes_before_fork();
	uprobe_returns_before_fork();
}

void perf_after_fork(void)
{
	uprobe_returns_after_fork();
	uprobes_after_fork();
	perf_pages_changed(0, ~0ul);
}

void perf_fork_child(struct thread *t)
{
	timer_after_fork(t);
	breakpoints_forked(t);
	faults_forget(t);
	uprobes_forked(t);
	perf_mmap_after_fork();
}

void perf_thread_ends(struct thread *t)
{
	timer_end(t);
	perf_free_buffers(t);
	breakpoints_drop(t);
	uprobe_returns_drop(t);
}
