/* The dispatcher: from one fragment to the next where translated code does not know the way itself. */
#include "dbt/dbt.h"
#include "cpu/bank.h"
#include "dbt/breaks.h"
#include "dbt/cache.h"
#include "dbt/counting.h"
#include "dbt/enter.h"
#include "dbt/flush.h"
#include "dbt/ibl.h"
#include "dbt/invalidate.h"
#include "dbt/lbr.h"
#include "dbt/mixes.h"
#include "dbt/polls.h"
#include "dbt/piece.h"
#include "dbt/run.h"
#include "dbt/rseq_cs.h"
#include "dbt/stop.h"
#include "dbt/translate.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/sys.h"

/* A word is used up. True: the instruction at cpu->rip reaches a limit, or may. */
static bool limit_exit(struct cpu *cpu, const struct exit *x)
{
	stat_inc(limit_exits);
	cpu->limits.fine = 1;
	return !x->patch && (cpu->limits.rare || (cache.variant[x->variant].want & CPU_WANT_FINE));
}

/* The thread is at that record's place, in front of the guest instruction at cpu->rip. */
static void is_here(struct cpu *cpu, u32 frag, u32 rec, u32 exit)
{
	check_slow(frag && rec - cache.frag[frag].rec < cache.frag[frag].nrec);
	cpu->here.pc = cpu->rip;
	cpu->here.frag = frag;
	cpu->here.rec = rec;
	cpu->here.exit = exit;
	cpu->here.entry = 0;
	cpu->here.generation = cpu->generation;
	__builtin_prefetch(&cache.frag[frag]);
	__builtin_prefetch(&cache.rec[rec]);
}

/* What a piece of it takes is seldom in the processor's caches: all of it is asked for at once. */
void run_is_at_entry(struct cpu *cpu, u32 id)
{
	const struct entry *e;

	id = polls_behind(id);
	e = &cache.entry[id];

	is_here(cpu, e->frag, e->rec, e->exit);
	cpu->here.entry = id;
	__builtin_prefetch((u8 *)&cache.rec[e->rec] + 64);
	__builtin_prefetch(&cache.exit[e->exit]);
	__builtin_prefetch((void *)(uintptr_t)e->host);
	__builtin_prefetch((void *)(uintptr_t)(e->host + 64));
}

/* A poll stopped translated code, and it is to go on where it is if nothing else comes of that. */
static void left_by_poll(struct cpu *cpu)
{
	const struct exit *x = &cache.exit[cpu->exit_id];

	check(x->kind == EXIT_POLL);
	stat_inc(limit_exits);
	cpu->rip = x->target;
	counting_correct(cpu, x->variant, x->rec);
	if (cache.frag[x->frag].poll)
		run_is_at_entry(cpu, cache.frag[x->frag].entry);
	else
		is_here(cpu, x->frag, x->rec, (u32)cpu->exit_id);
}

bool run_left_by_exit(struct cpu *cpu, u32 id, enum dbt_stop *stop)
{
	const struct exit *x = &cache.exit[id];

	check_slow(id && x->kind <= EXIT_STALE && cache.frag[x->frag].exit <= id);
	cpu->rip = x->target;
	if (x->kind == EXIT_LIMIT && !x->patch)
		counting_undo(cpu, x);
	else if (x->rec && !x->patch)
		counting_correct(cpu, x->variant, x->rec);
	switch ((enum exit_kind)x->kind) {
	case EXIT_SYSCALL:
		run_left_by_syscall(cpu);
		*stop = DBT_SYSCALL;
		return true;
	case EXIT_SYSENTER:
		*stop = DBT_SYSENTER;
		return true;
	case EXIT_RDPMC:
		*stop = DBT_RDPMC;
		return true;
	case EXIT_CPUID:
		*stop = DBT_CPUID;
		return true;
	case EXIT_XGETBV:
		*stop = DBT_XGETBV;
		return true;
	case EXIT_RDTSC:
		*stop = DBT_RDTSC;
		return true;
	case EXIT_EMULATE:
		*stop = DBT_EMULATE;
		return true;
	case EXIT_LIMIT:
		*stop = DBT_LIMIT;
		return limit_exit(cpu, x);
	case EXIT_BREAK:
		*stop = DBT_BREAK;
		return true;
	case EXIT_RSEQ_CS:
		*stop = DBT_RSEQ_CS;
		return true;
	case EXIT_WATCHED:
		*stop = DBT_WATCHED;
		return true;
	case EXIT_BRANCH:
	case EXIT_POLL:
	case EXIT_AHEAD:
		return false;
	case EXIT_STALE:
		dbt_forget(x->frag);
		return false;
	}
	return false;
}

u32 run_usable_want(const struct cpu *cpu)
{
	u32 want = __atomic_load_n(&cpu_bank(cpu)->want, __ATOMIC_ACQUIRE) & CPU_WANT_BY_DRIVERS;

	want |= dbt_options.always;
	return cpu->calls ? want : want & ~CPU_WANT_CALLS;
}

/* What the thread's code must be like now, with all limits in force. */
static u32 wanted(struct cpu *cpu)
{
	u32 want = run_usable_want(cpu);

	if (!(want & CPU_WANT_LIMITS)) {
		cpu->limits.stale = 1;
		cpu->limits.fine = cpu->limits.approaching = 0;
		return want;
	}
	cpu->limits.can_approach = !(want & ~PIECE_WANTS || dbt_options.no_ibl || dbt_options.no_links ||
				     dbt_options.no_approach || cpu_never_sparse);
	if (cpu->limits.want & CPU_WANT_SPARSE)
		cpu_poll_outside(cpu);
	if (cpu->limits.renew | cpu->limits.stale | cpu->limits.approaching) {
		stat_add(limits_passed,
			 (cpu->limits.want & CPU_WANT_SPARSE) && !cpu->limits.approaching && cpu_limit_reached(cpu));
		cpu_renew_limits(cpu);
	}
	if (cpu->limits.fine && !cpu->limits.rare)
		want |= CPU_WANT_FINE;
	cpu->limits.fine = 0;
	return want | cpu->limits.want;
}

int run_enter_at(struct cpu *cpu, u64 host)
{
	check_slow(cache_contains(host) && !lock_ranks() && cpu->epoch);
	cpu->rflags = (cpu->rflags & ~FLAGS_STEP) | FLAGS_FIXED;
	return dbt_enter(cpu, host);
}

static bool hold_cache(struct cpu *cpu)
{
	u32 epoch = __atomic_load_n(&cache.epoch, __ATOMIC_ACQUIRE);

	if (cpu->epoch == epoch)
		return false;
	__atomic_store_n(&cpu_bank(cpu)->inside, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&cpu->epoch, epoch, __ATOMIC_SEQ_CST);
	return true;
}

bool run_hold_cache(struct cpu *cpu)
{
	bool began = hold_cache(cpu);

	if (began && cpu_counts_by_mix(cpu->variant))
		mixes_know(cpu);
	return began;
}

bool run_hold_cache_locked(struct cpu *cpu)
{
	bool began = hold_cache(cpu);

	if (began && cpu_counts_by_mix(cpu->variant))
		mixes_know_locked(cpu);
	return began;
}

void run_set_variant(struct cpu *cpu, u32 want)
{
	stat_inc(variant_switches);
	if (want & ~cpu->variant & CPU_WANT_LBR)
		lbr_clear(cpu);
	if (cpu_counts_by_mix(want))
		mixes_know(cpu);
	cpu->variant = want;
	cpu->here.frag = 0; /* in another one's */
}

/*
 * Enters the variant's code at cpu->rip and leaves it again: LEFT_*, or -1: there is none. `exit` and `indirect` as for
 * run_find().
 */
static int enter(struct cpu *cpu, u32 want, u32 exit, bool indirect, struct dbt_fault *fault)
{
	struct cpu_found *found = &cpu->found[(cpu->rip ^ want >> 14) % CPU_FOUND];
	u32 entry, generation;

	if (want != cpu->variant) {
		run_set_variant(cpu, want);
		if (exit && cache.exit[exit].variant != cache_variant(want))
			exit = 0;
	}
	if (run_hold_cache(cpu))
		exit = 0;
	generation = __atomic_load_n(&cache.generation, __ATOMIC_ACQUIRE);
	if (exit || indirect || found->pc != cpu->rip || found->want != want || found->generation != generation) {
		entry = run_find(cpu, exit, indirect, fault);
		if (!entry)
			return -1;
		*found = (struct cpu_found){cpu->rip, want, generation, cache.entry[entry].host};
	}
	cpu->generation = generation;
	cpu->here.frag = 0;
	return run_enter_at(cpu, found->host);
}

void dbt_outside(struct cpu *cpu)
{
	__atomic_store_n(&cpu->epoch, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&cpu_bank(cpu)->inside, 0, __ATOMIC_RELEASE);
}

/* The thread only polled, or was led to a limit, and the code that it was in is what it is to run. */
static bool goes_on(struct cpu *cpu, u32 want)
{
	if (!cpu->here.frag || cpu->here.pc != cpu->rip || want != cpu->variant)
		return false;
	run_hold_cache(cpu);
	return cpu->here.generation == __atomic_load_n(&cache.generation, __ATOMIC_ACQUIRE);
}

int run_enter_inside(struct cpu *cpu, u32 variant, u32 rec, u64 host)
{
	int left;

	cpu->left_code = 0;
	counting_resume(cpu, variant, rec);
	left = run_enter_at(cpu, host);
	if (left == LEFT_INTERRUPT && !cpu->left_code)
		counting_correct(cpu, variant, rec);
	return left;
}

static int go_on(struct cpu *cpu)
{
	const struct frag *f = &cache.frag[cpu->here.frag];
	u32 rec = cpu->here.rec;

	cpu->here.frag = 0;
	return run_enter_inside(cpu, f->variant, rec, f->host + cache.rec[rec].host);
}

/*
 * Translated code was left, as `left` says, by a poll. Of an indirect branch that polls it is known where it leads to.
 */
static bool is_poll(struct cpu *cpu, int left)
{
	if (left != LEFT_INDIRECT || !(cpu->variant & CPU_WANT_SPARSE) || !cpu_poll_stops(cpu))
		return left == LEFT_POLL;
	cpu->rip = cpu->target;
	return true;
}

/* Goes on behind the poll. */
static int enter_behind(struct cpu *cpu, int left)
{
	u32 variant = cache_variant(cpu->variant);

	if (variant == NO_VARIANT) /* all was forgotten just now, which poll_on() sees */
		return left;
	cpu->left_code = 0;
	if (left == LEFT_INDIRECT) {
		const struct half_place *p = cache_place_of(&cache.variant[variant]);

		cpu->poll_back = (u64)(uintptr_t)p->miss + cache.variant[variant].ibl[(u16)cpu->rip];
		return run_enter_at(cpu, (u64)(uintptr_t)p->lookup);
	}
	left = run_enter_at(cpu, cpu->poll_back);
	if (left == LEFT_INTERRUPT && !cpu->left_code)
		left_by_poll(cpu);
	return left;
}

/*
 * Translated code may have polled. As long as limits are far away it goes on at once, and nobody asks where the thread
 * is: that would be two or three of the tables' lines from memory, for each stop.
 */
static int poll_on(struct cpu *cpu, int left)
{
	while (is_poll(cpu, left)) {
		if (cpu->generation != __atomic_load_n(&cache.generation, __ATOMIC_ACQUIRE) ||
		    (run_usable_want(cpu) | cpu->limits.want) != cpu->variant || !cpu_poll_on(cpu))
			return left;
		cpu->stops++;
		left = enter_behind(cpu, left);
	}
	return left;
}

/*
 * Code that was entered at `from` was left otherwise than by an indirect branch. If that is where it was entered, the
 * thread came there as it was known. An indirect branch to a breakpoint always comes by the dispatcher: it has no
 * landing.
 */
static void note_arrival(struct cpu *cpu, u64 from)
{
	if (cpu->rip != from)
		cpu->arrived = CPU_ARRIVED_DIRECTLY;
}

/* The instruction may reach into a page that the thread knows nothing of: it may have a page fault there. */
static bool may_fault(const struct cpu *cpu, u32 want)
{
	return unlikely(want & CPU_WANT_TOUCH) && !cpu_knows_code(cpu, cpu->rip, ISA_MAX_LEN);
}

static enum dbt_stop run(struct cpu *cpu, struct dbt_fault *fault)
{
	u32 exit = 0;
	bool indirect = false;
	enum dbt_stop stop;

	for (;;) {
		u32 want = wanted(cpu);
		u64 from = cpu->rip;
		bool stopped;
		int left;

		if (unlikely(cpu->limits.approaching))
			return DBT_NEAR;
		if (may_fault(cpu, want))
			return DBT_WATCHED;
		cpu_has_counted(cpu);
		left = !exit && !indirect && goes_on(cpu, want) ? go_on(cpu) : enter(cpu, want, exit, indirect, fault);
		left = poll_on(cpu, left);
		switch (left) {
		case -1:
			return DBT_FAULT;
		case LEFT_EXIT:
			exit = (u32)cpu->exit_id;
			stopped = run_left_by_exit(cpu, exit, &stop);
			note_arrival(cpu, from);
			if (stopped)
				return stop;
			indirect = false;
			if (!cache.exit[exit].patch)
				exit = 0;
			break;
		case LEFT_POLL:
			left_by_poll(cpu);
			note_arrival(cpu, from);
			exit = 0;
			indirect = false;
			break;
		case LEFT_INDIRECT:
			cpu->rip = cpu->target;
			cpu->arrived = CPU_ARRIVED_INDIRECTLY;
			exit = 0;
			indirect = !(cpu->variant & CPU_WANT_SPARSE) || !cpu_poll_stops(cpu);
			stat_inc(lookups);
			break;
		default:
			return DBT_INTERRUPT;
		}
	}
}

enum dbt_stop dbt_run(struct cpu *cpu, struct dbt_fault *fault)
{
	enum dbt_stop stop;

	if (cpu->steps | cpu->pieces | cpu->stops) {
		stat_add(steps, cpu->steps);
		stat_add(pieces, cpu->pieces);
		stat_add(limit_exits, cpu->stops);
		cpu->steps = cpu->pieces = cpu->stops = 0;
	}
	stop = run(cpu, fault);
	if (stop != DBT_BREAK && stop != DBT_LIMIT)
		cpu->arrived = CPU_ARRIVED;
	if (stop != DBT_LIMIT && stop != DBT_NEAR)
		dbt_outside(cpu);
	return stop;
}

static enum dbt_stop step(struct cpu *cpu, u32 want, struct dbt_fault *fault)
{
	enum dbt_stop stop;

	cpu->arrived = CPU_ARRIVED;
	want = (want & ~(CPU_WANT_LIMITS | CPU_WANT_WATCH | CPU_WANT_TOUCH | CPU_WANT_BREAK)) | CPU_WANT_ONE;
	for (;;) {
		switch (rseq_cs_at(cpu->rip) ? rseq_cs_enter(cpu, want, fault) : enter(cpu, want, 0, false, fault)) {
		case -1:
			return DBT_FAULT;
		case LEFT_EXIT:
			if (run_left_by_exit(cpu, (u32)cpu->exit_id, &stop))
				return stop;
			if (cache.exit[cpu->exit_id].kind == EXIT_BRANCH) {
				cpu->arrived = CPU_ARRIVED_DIRECTLY;
				return DBT_STEPPED;
			}
			break;
		case LEFT_INDIRECT:
			cpu->rip = cpu->target;
			cpu->arrived = CPU_ARRIVED_INDIRECTLY;
			return DBT_STEPPED;
		default:
			return DBT_INTERRUPT;
		}
	}
}

enum dbt_stop dbt_step(struct cpu *cpu, struct dbt_fault *fault)
{
	u64 pc = cpu->rip, insns = cpu_bank(cpu)->cell[CELL_INSTRUCTIONS],
	    branches = cpu_bank(cpu)->cell[CELL_BRANCHES];
	enum dbt_stop stop = step(cpu, run_usable_want(cpu), fault);

	cpu->limits.countdown[CELL_INSTRUCTIONS] += (s64)(cpu_bank(cpu)->cell[CELL_INSTRUCTIONS] - insns);
	cpu->limits.countdown[CELL_BRANCHES] += (s64)(cpu_bank(cpu)->cell[CELL_BRANCHES] - branches);
	cpu->limits.stale |= !!(cpu->limits.want & CPU_WANT_SPARSE);
	cpu->limits.fine = cpu->rip - pc <= ISA_MAX_LEN;
	cpu->steps++;
	if (stop != DBT_STEPPED)
		dbt_outside(cpu);
	return stop;
}

enum dbt_stop dbt_rseq_cs(struct cpu *cpu, struct dbt_fault *fault)
{
	u32 want = run_usable_want(cpu);
	enum dbt_stop stop;

	if (want & ~(CPU_WANT_BLOCKS | CPU_WANT_CYCLES | CPU_WANT_KINDS | CPU_WANT_TAKEN))
		return DBT_NEAR;
	stop = step(cpu, want | CPU_WANT_RSEQ_CS, fault);
	if (stop != DBT_STEPPED)
		dbt_outside(cpu);
	return stop;
}
