/* Approaching a limit in pieces of what fragments already are: see dbt/piece.h. */
#include "cpu/bank.h"
#include "dbt/cache.h"
#include "dbt/counting.h"
#include "dbt/dbt.h"
#include "dbt/enter.h"
#include "dbt/piece.h"
#include "dbt/run.h"
#include "dbt/stop.h"
#include "rt/log.h"

/* Where the thread is in translated code. False, and *fault: nowhere. */
static bool find_here(struct cpu *cpu, struct dbt_fault *fault)
{
	u32 generation = __atomic_load_n(&cache.generation, __ATOMIC_ACQUIRE), entry;

	if (cpu->here.frag && cpu->here.pc == cpu->rip && cpu->here.generation == generation)
		return true;
	cpu->generation = generation;
	entry = run_find(cpu, 0, false, fault);
	if (entry)
		run_is_at_entry(cpu, entry);
	return entry;
}

/* Enters the piece at the cpu's place. In front of a block all counts are right. */
static int enter_piece(struct cpu *cpu)
{
	if (!cpu->here.entry)
		return run_enter_inside(cpu, cache.frag[cpu->here.frag].variant, cpu->here.rec, cpu->copy.at);
	cpu->limits.stale = 1;
	return run_enter_at(cpu, cpu->copy.at);
}

/* A piece was left at its end, in the middle of its fragment. */
static void left_inside(struct cpu *cpu)
{
	const struct frag *f = &cache.frag[cpu->here.frag];

	check(cpu->copy.end - f->rec < f->nrec);
	counting_correct(cpu, f->variant, cpu->copy.end);
	cpu->rip = f->pc + (u64)(s64)cache.rec[cpu->copy.end].guest;
	cpu->here.pc = cpu->rip;
	cpu->here.rec = cpu->copy.end;
	cpu->here.entry = 0;
}

/* A piece was left by a branch of its fragment. */
static void left_by_branch(struct cpu *cpu, const struct exit *x)
{
	u32 entry = __atomic_load_n(&x->linked, __ATOMIC_RELAXED);

	cpu->rip = x->target;
	cpu->here.frag = 0;
	if (entry && cache.entry[entry].pc == x->target)
		run_is_at_entry(cpu, entry);
}

/* A piece was left by an exit. */
static enum dbt_stop left_piece(struct cpu *cpu)
{
	u32 id = (u32)cpu->exit_id;
	enum dbt_stop stop;

	if (!id) {
		left_inside(cpu);
	} else if (cache.exit[id].kind == EXIT_BRANCH) {
		left_by_branch(cpu, &cache.exit[id]);
	} else if (cache.exit[id].kind == EXIT_AHEAD) {
		counting_correct(cpu, cache.exit[id].variant, cache.exit[id].rec);
		left_by_branch(cpu, &cache.exit[id + 1]);
	} else {
		cpu->here.frag = 0;
		if (run_left_by_exit(cpu, id, &stop))
			return stop;
	}
	return DBT_STEPPED;
}

enum dbt_stop dbt_approach(struct cpu *cpu, u64 most, struct dbt_fault *fault)
{
	u32 want = run_usable_want(cpu) | (cpu->limits.want & (CPU_WANT_SPARSE | CPU_WANT_IN_POLLS));
	enum dbt_stop stop = DBT_STEPPED;
	int left;

	check_slow(cpu->limits.want & CPU_WANT_SPARSE);
	if (want & ~PIECE_WANTS)
		return DBT_NEAR;
	if (want != cpu->variant)
		run_set_variant(cpu, want);
	run_hold_cache(cpu);
	if (!find_here(cpu, fault)) {
		dbt_outside(cpu);
		return DBT_FAULT;
	}
	if (!piece_make(cpu, cpu_approached_cell(cpu), most))
		return DBT_NEAR;
	cpu_has_counted(cpu);
	cpu->generation = cpu->here.generation;
	cpu->pieces++;
	left = enter_piece(cpu);
	piece_done(cpu);
	if (left == LEFT_EXIT) {
		stop = left_piece(cpu);
	} else if (left == LEFT_INDIRECT) {
		cpu->rip = cpu->target;
		cpu->here.frag = 0;
	} else {
		stop = DBT_INTERRUPT;
		cpu->here.frag = 0;
	}
	if (stop != DBT_STEPPED)
		dbt_outside(cpu);
	return stop;
}
