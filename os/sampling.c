/* See sampling.h. */
#include <asm/siginfo.h>
#include "cpu/bank.h"
#include "os/breakpoints.h"
#include "os/process.h"
#include "os/sampling.h"
#include "os/shot.h"
#include "os/signal.h"
#include "os/timer.h"
#include "rt/string.h"

#define STEPS_TO_LIMIT CPU_BLOCK_INSNS /* a limit lies in the block that DBT_LIMIT stopped in front of */
#define STEPS_AFTER    64	       /* at most, until code that is translated already goes on */
#define INSN_MAX       15 /* bytes */

/* The kernel's siginfo of SIGTRAP with code TRAP_PERF. */
struct perf_siginfo {
	s32 signo, err, code, pad;
	u64 addr, data;
	u32 type, flags;
};

/*
 * As the kernel's send_sig_perf(): an ordinary signal to the thread. While a system call is to be served it waits for that: with a
 * deliverable signal the call would not be begun.
 */
static void raise_trap(struct thread *t, const struct overflow_result *result, bool later)
{
	struct taken_signal *slot = &t->held[sig_held_index(SIGTRAP)];
	bool blocked = t->sigmask & SIG_BIT(SIGTRAP);
	struct perf_siginfo info = {
		.signo = SIGTRAP,
		.code = TRAP_PERF,
		.addr = result->sig_addr,
		.data = result->sig_data,
		.type = result->sig_type,
		.flags = blocked ? TRAP_PERF_FLAG_ASYNC : 0,
	};

	if (slot->signo)
		return; /* as a standard signal that is pending already */
	memset(slot->info, 0, sizeof(slot->info));
	memcpy(slot->info, &info, sizeof(info));
	slot->signo = SIGTRAP;
	if (blocked)
		return;
	t->attention |= !later;
	t->trap_later = later;
}

void sampling_result(struct thread *t, const struct overflow_result *result)
{
	if (result->sigtrap)
		raise_trap(t, result, false);
}

static void overflow(struct thread *t, struct shot *shot, bool in_call)
{
	struct overflow_result result = {0};

	event_overflow(t->cpu->slot, shot, &result);
	if (unlikely(result.sigtrap))
		raise_trap(t, &result, in_call);
}

/* A sample of the instruction that was executed last; regs: before it. */
static void overflow_exact(struct thread *t, const struct shot_regs *regs, enum dbt_stop stop)
{
	struct shot shot;

	shot_take(t, regs, &shot);
	shot.exact = true;
	overflow(t, &shot, stop == DBT_SYSCALL);
}

static enum dbt_stop step(struct thread *t, struct dbt_fault *fault, bool *sampled)
{
	struct breakpoint_step watched;
	struct shot_regs before;
	enum dbt_stop stop;

	*sampled = false;
	if (!breakpoints_begin(t, &watched))
		return DBT_STEPPED;
	shot_regs(t->cpu, &before);
	stop = dbt_step(t->cpu, fault);
	breakpoints_end(t, &watched, stop);
	*sampled = cpu_limit_reached(t->cpu);
	if (*sampled)
		overflow_exact(t, &before, stop);
	return stop;
}

enum dbt_stop sampling_step(struct thread *t, struct dbt_fault *fault)
{
	bool sampled;

	return step(t, fault, &sampled);
}

/* After the instruction that was at pc, and the sample: translated code may go on. */
static bool may_go_on(const struct thread *t, u64 pc)
{
	return t->cpu->rip - pc > INSN_MAX || dbt_known(t->cpu, t->cpu->rip);
}

enum dbt_stop sampling_limit(struct thread *t, struct dbt_fault *fault)
{
	u32 left = STEPS_TO_LIMIT;
	bool sampled, any = false;
	enum dbt_stop stop;
	u64 pc;

	do {
		pc = t->cpu->rip;
		stop = step(t, fault, &sampled);
		if (sampled) {
			any = true;
			left = STEPS_AFTER;
		}
		if (stop != DBT_STEPPED || t->attention)
			break;
	} while (--left && !(any && may_go_on(t, pc)));
	return stop;
}

void sampling_rearm(struct thread *t)
{
	event_arm(t->cpu->slot);
	shot_sizes(t);
}

void sampling_clock(struct thread *t)
{
	bool kernel = !t->clock_fired; /* if it turns out that the limit was reached in the system call that is done */
	struct shot_regs now;
	struct shot shot;

	if (t->clock_state == CLOCK_PAUSED)
		timer_resume(t);
	if (!t->clock_fired)
		return;
	t->clock_fired = 0;
	shot_regs(t->cpu, &now);
	shot_take(t, &now, &shot);
	shot.kernel = kernel;
	overflow(t, &shot, false);
}

void sampling_poll_slowly(struct thread *t, bool kernel)
{
	struct shot_regs now;
	struct shot shot;

	shot_regs(t->cpu, &now);
	shot_take(t, &now, &shot);
	shot.kernel = kernel;
	event_poll(t->cpu->slot, &shot);
}

void sampling_end(struct thread *t)
{
	timer_end(t);
	shot_end(t);
	breakpoints_drop(t);
}
