/* See loop.h. No lock is held and no signal is undelivered when translated code is entered. */
#include "dbt/dbt.h"
#include "event/overflow.h"
#include "event/task.h"
#include "os/emulate.h"
#include "os/loop.h"
#include "os/pin/turn.h"
#include "os/session/process.h"
#include "os/sig/rseq.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "os/trap_flag.h"
#include "perf/perf.h"

/*
 * Runs translated code until it stops for something that is to be served; DBT_STEPPED: for nothing, run it again. No
 * change by another thread is missed: either it is read here, or its maker sees in_cache and interrupts.
 *
 *	thread						who changes something
 *	in_cache = 1					quiesce, rearm, hits_changed, what event_is_followed()
 *							reads, or `want`
 *	barrier				A		barrier (host_kick())
 *	read these (want: in dbt_run())			if in_cache: signal
 */
static enum dbt_stop run(struct thread *t, struct dbt_fault *fault)
{
	enum dbt_stop stop = DBT_STEPPED;

	__atomic_store_n(&t->task->in_cache, 1, __ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&t->group->quiesce, __ATOMIC_SEQ_CST))) {
		__atomic_store_n(&t->task->in_cache, 0, __ATOMIC_SEQ_CST);
		group_wait(t);
		return DBT_INTERRUPT;
	}
	if (unlikely(__atomic_load_n(&event_ctx(t->cpu->slot)->rearm, __ATOMIC_RELAXED))) {
		__atomic_store_n(&t->task->in_cache, 0, __ATOMIC_SEQ_CST);
		perf_rearm(t);
		return DBT_STEPPED;
	}
	if (unlikely(__atomic_load_n(&event_ctx(t->cpu->slot)->hits_changed, __ATOMIC_RELAXED))) {
		__atomic_store_n(&t->task->in_cache, 0, __ATOMIC_SEQ_CST);
		perf_load_breakpoints(t);
		return DBT_STEPPED;
	}
	if (unlikely(event_task_has_moved(t->cpu->slot))) {
		__atomic_store_n(&t->task->in_cache, 0, __ATOMIC_SEQ_CST);
		event_task_moved(t->cpu->slot);
		return DBT_STEPPED;
	}
	/* Whoever changes something in the meantime interrupts: limits and breakpoints are passed without leaving. */
	while (stop == DBT_STEPPED && !t->attention && !t->turn.over) {
		if (trap_flag_is_set(t)) {
			stop = trap_flag_step(t, fault);
			continue;
		}
		if (unlikely(dbt_in_rseq_cs(t->cpu->rip))) {
			stop = rseq_run(t, fault);
			continue;
		}
		stop = unlikely(perf_must_step(t)) ? perf_step(t, fault) : dbt_run(t->cpu, fault);
		if (stop == DBT_LIMIT)
			stop = perf_limit(t, fault);
		else if (stop == DBT_NEAR)
			stop = perf_approach(t, fault);
		else if (stop == DBT_BREAK || stop == DBT_WATCHED)
			stop = perf_step(t, fault);
		if (unlikely(stop == DBT_RSEQ_CS))
			stop = DBT_STEPPED;
	}
	dbt_outside(t->cpu);
	__atomic_store_n(&t->task->in_cache, 0, __ATOMIC_RELEASE);
	return stop;
}

/* What is polled is looked at first: of the CPU that the thread has left, that is the last moment. */
static void see_where(struct thread *t)
{
	perf_poll_sources(t, false);
	perf_cgroup_look(t, false);
	event_task_moved(t->cpu->slot);
	perf_switches(t, 0);
}

static void serve_syscall(struct thread *t)
{
	see_where(t);
	event_tick(t->cpu->slot);
	syscall_dispatch(t);
	perf_poll_sources(t, true);
	event_task_moved(t->cpu->slot); /* sched_setaffinity, or it slept */
	if (unlikely(t->trap_later)) {
		t->trap_later = 0;
		t->attention = 1;
	}
}

static void take_turns(struct thread *t)
{
	bool gave_up = turn_is_over(t) && rseq_give_up(t);

	turn_look(t, gave_up);
}

void loop_run(struct thread *t)
{
	struct dbt_fault fault;
	enum dbt_stop stop;
	u32 want;

	t->section.stack_top = (u64)__builtin_frame_address(0); /* what called this never goes on */
	for (;;) {
		__atomic_store_n(&t->cpu->pending, 0, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (unlikely(t->turn.on))
			take_turns(t);
		if (unlikely(t->clock_fired | (t->clock_state == CLOCK_PAUSED)))
			perf_clock(t);
		if (unlikely(t->attention))
			signal_deliver(t);
		want = __atomic_load_n(&cpu_bank(t->cpu)->want, __ATOMIC_RELAXED);
		if (unlikely(want || perf_traces_wanted(t->cpu->slot))) {
			signal_catch_fatal(t);
			perf_prepare(t, want);
		}
		stop = run(t, &fault);
		switch (stop) {
		case DBT_SYSCALL:
			serve_syscall(t);
			break;
		case DBT_FAULT:
			emulate_fetch_fault(t, &fault);
			break;
		case DBT_INTERRUPT:
			see_where(t);
			break;
		case DBT_SYSENTER:
		case DBT_RDPMC:
		case DBT_CPUID:
		case DBT_XGETBV:
		case DBT_RDTSC:
		case DBT_EMULATE:
			emulate(t, stop);
			break;
		default:
			break;
		}
	}
}
