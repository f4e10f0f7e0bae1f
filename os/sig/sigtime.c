/* See sigtime.h. */
#include "os/sig/sigtime.h"

#include <asm/siginfo.h>
#include "event/files.h"
#include "event/throttle.h"
#include "os/sig/signal.h"
#include "perf/perf.h"

/* The task that caused it, if the event is one that is throttled. */
static u32 cause_of_event(u32 nr)
{
	const struct event *e = event_slot(nr);
	u32 by = e->async_by;

	return by < EVENT_TASKS && !e->source.hits && !e->source.polled ? by : 0;
}

/* Without F_SETSIG, or if the queue was full, the signal does not say of which event it is. */
static u32 cause_of_any(const struct thread *t)
{
	const struct event_files *files = event_files_slot(event_ctx(t->cpu->slot)->files);
	u32 found = 0;

	for (u32 fd = 0; found != t->cpu->slot && fd < MIN(__atomic_load_n(&files->high, __ATOMIC_RELAXED), EVENT_FDS);
	     fd++) {
		u32 nr = event_files_lookup(t->cpu->slot, fd);
		u32 by = nr && event_slot(nr)->async_pid ? cause_of_event(nr) : 0;

		found = by ? by : found;
	}
	return found;
}

u32 sigtime_cause(struct thread *t, const struct taken_signal *sig)
{
	const struct ksiginfo *info = (const struct ksiginfo *)sig->info;
	u32 nr;

	if (likely(!event_space->opened))
		return 0;
	if (perf_signal_of_descriptor(info)) {
		nr = event_files_lookup(t->cpu->slot, (u32)info->value);
		return nr ? cause_of_event(nr) : 0;
	}
	if (sig->signo == SIGTRAP && info->code == TRAP_PERF)
		return *(const u32 *)info->rest != PERF_TYPE_BREAKPOINT ? t->cpu->slot : 0; /* its si_perf_type */
	return sig->signo == SIGIO && info->code == SIG_CODE_KERNEL ? cause_of_any(t) : 0;
}

static void over(struct thread *t)
{
	u64 now = host_task_clock(t->cpu->slot);

	if (t->sigtime.cause == t->cpu->slot)
		throttle_handling(t->cpu->slot, now, false);
	else
		throttle_charge(t->sigtime.cause, now - t->sigtime.begin);
	t->sigtime.cause = 0;
}

/* The stack pointer is below the frame of the outermost handler, on the stack that the frame is on. */
static bool is_inside(const struct thread *t)
{
	u64 sp = cpu_get_gpr(t->cpu, REG_SP);

	if (!t->sigtime.stack && sp - t->altstack.sp < t->altstack.size)
		return true;
	return sp <= t->sigtime.frame && sp >= t->sigtime.stack;
}

void sigtime_begin(struct thread *t, u32 cause)
{
	sigtime_look(t);
	if (t->sigtime.cause)
		return;
	t->sigtime.cause = cause;
	t->sigtime.frame = 0;
	t->sigtime.since = host_clock_perf();
	t->sigtime.begin = host_task_clock(t->cpu->slot);
	if (cause == t->cpu->slot)
		throttle_handling(cause, t->sigtime.begin, true);
}

void sigtime_entered(struct thread *t)
{
	u64 sp = cpu_get_gpr(t->cpu, REG_SP);

	if (!t->sigtime.cause || t->sigtime.frame)
		return;
	t->sigtime.frame = sp;
	t->sigtime.stack = sp - t->altstack.sp < t->altstack.size ? t->altstack.sp : 0;
}

void sigtime_returns(struct thread *t)
{
	if (t->sigtime.cause && cpu_get_gpr(t->cpu, REG_SP) - SIGFRAME_POPPED == t->sigtime.frame)
		t->sigtime.frame = 0;
}

void sigtime_look_slow(struct thread *t)
{
	if (!t->sigtime.frame || !is_inside(t) || host_clock_perf() - t->sigtime.since > SIGTIME_MAX)
		over(t);
}
