/* See sampling.h. */
#include <asm/siginfo.h>
#include "cpu/bank.h"
#include "event/counters.h"
#include "os/guest_insn.h"
#include "os/session/death.h"
#include "os/session/process.h"
#include "os/sig/signal.h"
#include "os/sig/sigtime.h"
#include "perf/breakpoints.h"
#include "perf/faults.h"
#include "perf/perf.h"
#include "perf/sampling.h"
#include "perf/snapshot.h"
#include "perf/timer.h"
#include "rt/stats.h"
#include "rt/string.h"

/*
 * Pieces of code that an approach may take: so many, and one more for so many instructions of the way. Counting down is
 * cheaper than more of them.
 */
#define APPROACH_PIECES 40
#define APPROACH_INSNS 6

/* The kernel's siginfo of SIGTRAP with code TRAP_PERF. */
struct perf_siginfo {
	s32 signo, err, code, pad;
	u64 addr, data;
	u32 type, flags;
};

/*
 * As the kernel's send_sig_perf(): an ordinary signal to the thread. While a system call is to be served it waits for
 * that: with a deliverable signal the call would not be begun.
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

void sampling_result(struct thread *t, const struct overflow_result *result, bool in_call)
{
	death_of_holders(t);
	if (unlikely(result->sigtrap))
		raise_trap(t, result, in_call);
}

static void overflow(struct thread *t, struct snapshot *snap, bool in_call)
{
	struct overflow_result result = {0};

	sigtime_look(t);
	event_overflow(t->cpu->slot, snap, &result);
	sampling_result(t, &result, in_call);
}

/* A sample of the instruction that was executed last; regs: before it. */
static void overflow_exact(struct thread *t, const struct snapshot_regs *regs, enum dbt_stop stop)
{
	struct snapshot snap;

	stat_inc(limits);
	snapshot_take(t, regs, &snap);
	snap.exact = true;
	overflow(t, &snap, stop == DBT_SYSCALL);
}

/*
 * The instruction that was executed last has reached a limit of the events. If it has reached the end of the thread's
 * turn, that is noted.
 */
static bool reached(struct thread *t)
{
	if (unlikely(t->turn.on) && cpu_turn_is_over(t->cpu)) {
		cpu_set_turn(t->cpu, 0);
		t->turn.over = 1;
	}
	return cpu_limit_reached(t->cpu);
}

/* Executes one instruction. *sampled: it has reached a limit, and its sample is taken. */
static enum dbt_stop step(struct thread *t, struct dbt_fault *fault, bool *sampled)
{
	struct breakpoint_step watched;
	struct snapshot_regs before;
	struct fault_step faults;
	enum dbt_stop stop;

	*sampled = false;
	if (!breakpoints_begin(t, &watched))
		return DBT_STEPPED;
	if (!faults_begin(t, &faults)) {
		breakpoints_end(t, &watched, DBT_INTERRUPT);
		return DBT_STEPPED;
	}
	perf_regs(t->cpu, &before);
	stop = dbt_step(t->cpu, fault);
	faults_end(t, &faults);
	breakpoints_end(t, &watched, stop);
	*sampled = reached(t);
	if (*sampled)
		overflow_exact(t, &before, stop);
	return stop;
}

void perf_emulated_insn(struct thread *t, const struct snapshot_regs *before, const struct insn *in)
{
	struct cpu *cpu = t->cpu;

	cpu->rip += in->len;
	if (cpu->variant & CPU_WANT_BLOCKS)
		cpu_count_besides(cpu, CELL_INSTRUCTIONS, 1);
	if (cpu->variant & CPU_WANT_CYCLES)
		cpu_count_besides(cpu, CELL_CYCLES, in->weight);
	if ((cpu_bank(t->cpu)->want & CPU_WANT_LIMITS) && cpu_limit_reached(t->cpu))
		overflow_exact(t, before, DBT_STEPPED);
}

void perf_emulated(struct thread *t, const struct snapshot_regs *before, u8 len)
{
	struct insn in;

	/* It may have gone meanwhile, by another thread. */
	if (!guest_insn_decode(t->cpu->rip, &in))
		in = (struct insn){.len = len};
	perf_emulated_insn(t, before, &in);
}

void perf_counted(struct thread *t, const struct snapshot_regs *before, const struct insn *in)
{
	dbt_count_emulated(t->cpu, in);
	if ((cpu_bank(t->cpu)->want & CPU_WANT_LIMITS) && cpu_limit_reached(t->cpu))
		overflow_exact(t, before, DBT_STEPPED);
}

enum dbt_stop perf_step(struct thread *t, struct dbt_fault *fault)
{
	bool sampled;

	return step(t, fault, &sampled);
}

/*
 * After a step: the next instruction is stepped over, too. Where limits are rare, no fine code is made, so that is the
 * rest of the block. Else only an instruction that reaches the next limit right behind this one.
 */
static bool goes_on(const struct cpu *cpu, bool sampled)
{
	if (unlikely(dbt_in_rseq_cs(cpu->rip))) /* that is rseq_run()'s */
		return false;
	return cpu->limits.rare ? dbt_in_block(cpu) : sampled && cpu_limit_is_next(cpu);
}

/* Over the limit, by steps. */
static enum dbt_stop limit(struct thread *t, struct dbt_fault *fault)
{
	bool sampled;
	enum dbt_stop stop;

	do
		stop = step(t, fault, &sampled);
	while (stop == DBT_STEPPED && !t->attention && !t->turn.over && goes_on(t->cpu, sampled));
	return stop;
}

/*
 * To the limit and over it, or some way towards it. A piece ends in front of the instruction that reaches the limit.
 * But it has one instruction at least: if this one reaches the limit it is alone, so `before` are its registers.
 */
static enum dbt_stop approach(struct thread *t, struct dbt_fault *fault)
{
	struct cpu *cpu = t->cpu;
	u64 left = cpu_approach_left(cpu), pieces = APPROACH_PIECES + left / APPROACH_INSNS;
	enum dbt_stop stop;

	do {
		struct snapshot_regs before;

		perf_regs(cpu, &before);
		stop = pieces-- ? dbt_approach(cpu, left ? left - 1 : 0, fault) : DBT_NEAR;
		if (stop == DBT_NEAR) {
			cpu_approach_give_up(cpu);
			return DBT_STEPPED;
		}
		if (!cpu_approach_left(cpu) && (left || stop == DBT_STEPPED || stop == DBT_SYSCALL)) {
			if (reached(t))
				overflow_exact(t, &before, stop);
			break;
		}
		left = cpu_approach_left(cpu);
	} while (stop == DBT_STEPPED && !t->attention);
	return stop;
}

/* For frequencies, which are what brings ticks: beside short fixed periods alone, two clock reads would be dear. */
static enum dbt_stop timed(struct thread *t, struct dbt_fault *fault,
			   enum dbt_stop (*sample)(struct thread *t, struct dbt_fault *fault))
{
	u64 begin;
	enum dbt_stop stop;

	if (likely(!event_ctx(t->cpu->slot)->tick_stamp))
		return sample(t, fault);
	begin = host_clock_perf();
	stop = sample(t, fault);
	event_sample_took(t->cpu->slot, host_clock_perf() - begin);
	return stop;
}

enum dbt_stop perf_limit(struct thread *t, struct dbt_fault *fault)
{
	return timed(t, fault, limit);
}

enum dbt_stop perf_approach(struct thread *t, struct dbt_fault *fault)
{
	return timed(t, fault, approach);
}

void perf_rearm(struct thread *t)
{
	event_arm(t->cpu->slot);
	snapshot_sizes(t);
}

void perf_clock(struct thread *t)
{
	struct snapshot_regs now;
	struct snapshot snap;
	bool kernel;

	if (t->clock_state == CLOCK_PAUSED)
		timer_resume(t);
	if (!t->clock_fired)
		return;
	kernel = t->clock_fired == CLOCK_FIRED_IN_CALL;
	t->clock_fired = CLOCK_NOT_FIRED;
	counters_rotate(t->cpu->slot);
	perf_regs(t->cpu, &now);
	snapshot_take(t, &now, &snap);
	snap.kernel = kernel;
	overflow(t, &snap, false);
}

void perf_poll_sources_slowly(struct thread *t, bool kernel)
{
	struct overflow_result result = {0};
	struct snapshot_regs now;
	struct snapshot snap;

	perf_regs(t->cpu, &now);
	snapshot_take(t, &now, &snap);
	snap.kernel = kernel;
	event_poll(t->cpu->slot, &snap, &result);
	sampling_result(t, &result, !kernel);
}
