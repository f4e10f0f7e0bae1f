/*
 * Breakpoints of a thread: what its ACTIVE events of the breakpoint PMU want to be told.
 *
 * Translated code stops in front of an instruction that has an execution breakpoint (DBT_BREAK), or that may access
 * watched memory (DBT_WATCHED). The thread goes over it by perf_step(), which asks here before and after: execution
 * breakpoints are hit before the instruction, once, data breakpoints after it, once for each iteration of a string
 * instruction, as x86 processors report them. What a hit means is event_hit()'s business.
 *
 * All functions are called by the thread itself, outside translated code and without locks.
 */
#ifndef PERF_BREAKPOINTS_H
#define PERF_BREAKPOINTS_H

#include "dbt/dbt.h"
#include "event/sample.h"
#include "isa/address.h"
#include "os/session/thread.h"
#include "perf/uprobes.h"

/* One instruction, from breakpoints_begin() to breakpoints_end(). */
struct breakpoint_step {
	bool on;	  /* the thread has any breakpoints, or the process any probes */
	bool hit;	  /* its own was hit, or a probe: not again when it is begun again */
	struct snapshot_regs before;
	struct isa_access access[ISA_ACCESSES];
	int accesses;
};

bool breakpoints_begin_slowly(struct thread *t, struct breakpoint_step *s);
void breakpoints_end_slowly(struct thread *t, const struct breakpoint_step *s, enum dbt_stop stop);

/* In front of the instruction. False: it must not be executed yet, a signal comes first. */
static inline bool breakpoints_begin(struct thread *t, struct breakpoint_step *s)
{
	s->on = t->breakpoints || uprobes_wanted;
	return likely(!s->on) || breakpoints_begin_slowly(t, s);
}

/* After dbt_step(), which returned stop. */
static inline void breakpoints_end(struct thread *t, const struct breakpoint_step *s, enum dbt_stop stop)
{
	if (unlikely(s->on))
		breakpoints_end_slowly(t, s, stop);
}

/* The registers after the i-th of `done` rounds. */
void breakpoints_regs_between(const struct breakpoint_step *s, const struct snapshot_regs *after, u64 i, u64 done,
			      struct snapshot_regs *out);

/* In the child of a fork, which has the parent's as a copy: none of them is its own. */
void breakpoints_forked(struct thread *t);

/* The thread ends, or a vfork child left this memory. */
void breakpoints_drop(struct thread *t);

#endif
