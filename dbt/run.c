/* The dispatcher: from one fragment to the next where translated code does not know the way itself. */
#include "dbt/dbt.h"
#include "dbt/cache.h"
#include "dbt/cpu_offsets.h"
#include "dbt/enter.h"
#include "dbt/flush.h"
#include "dbt/ibl.h"
#include "dbt/invalidate.h"
#include "dbt/stop.h"
#include "dbt/translate.h"
#include "rt/stats.h"
#include "rt/sys.h"

_Static_assert(offsetof(struct cpu, gpr) == CPU_GPR, "cpu_offsets.h");
_Static_assert(offsetof(struct cpu, rip) == CPU_RIP, "cpu_offsets.h");
_Static_assert(offsetof(struct cpu, rflags) == CPU_RFLAGS, "cpu_offsets.h");
_Static_assert(offsetof(struct cpu, exit_id) == CPU_EXIT_ID, "cpu_offsets.h");
_Static_assert(offsetof(struct cpu, target) == CPU_TARGET, "cpu_offsets.h");
_Static_assert(offsetof(struct cpu, rt_rsp) == CPU_RT_RSP, "cpu_offsets.h");
_Static_assert(offsetof(struct cpu, pending) == CPU_PENDING, "cpu_offsets.h");

_Static_assert(STOLEN == R11, "dbt/x86_64/enter.S");

#define RFLAGS_TF 0x100u
#define RFLAGS_FIXED 0x202u

int dbt_init(void)
{
	ibl_init();
	return cache_init();
}

void dbt_cpu_init(struct cpu *cpu)
{
	cpu->rt_fn[RT_LEAVE_EXIT] = (u64)(uintptr_t)dbt_leave_exit;
	cpu->rt_fn[RT_LEAVE_INDIRECT] = (u64)(uintptr_t)dbt_leave_indirect;
	cpu->rflags = RFLAGS_FIXED;
}

void dbt_before_fork(void)
{
	lock_acquire(&dbt_lock);
}

void dbt_after_fork(void)
{
	lock_release(&dbt_lock);
}

/* With dbt_lock, which it may release for a while. */
static void make_room(struct cpu *cpu)
{
	__atomic_store_n(&cpu->epoch, 0, __ATOMIC_RELEASE);
	while (!cache_has_room() && !flush_all()) {
		lock_release(&dbt_lock);
		sys0(__NR_sched_yield);
		lock_acquire(&dbt_lock);
	}
	__atomic_store_n(&cpu->epoch, cache.epoch, __ATOMIC_SEQ_CST);
}

/*
 * The entry for cpu->rip, translated if need be. `exit` (0: none) is the direct exit that led here, `indirect` that an indirect
 * branch did: the next time they find the way alone.
 */
static u32 find_way(struct cpu *cpu, u32 exit, bool indirect, struct dbt_fault *fault)
{
	struct variant *v = &cache.variant[cpu->variant];
	u32 entry = cache_find(v, cpu->rip);

	if (entry && !exit && !indirect)
		return entry;
	lock_acquire(&dbt_lock);
	if (!cache_has_room())
		make_room(cpu);
	entry = cache_find(v, cpu->rip);
	if (!entry)
		entry = translate(cpu->variant, cpu->rip, indirect, fault);
	if (entry && exit && !dbt_options.no_links) {
		struct exit *x = &cache.exit[exit];

		/* Only within the half in use, from code that is not dead. */
		if (x->patch && !x->linked && x->variant == cpu->variant && x->target == cpu->rip &&
		    x->frag >= cache.first_frag && x->frag < cache.nfrag && !cache.frag[x->frag].dead) {
			cache_exit_link(exit, entry);
			stat_inc(links);
		}
	}
	if (entry && indirect && !dbt_options.no_ibl)
		ibl_install(v, entry);
	lock_release(&dbt_lock);
	return entry;
}

/* Translated code left by an exit. Returns true if dbt_run() is to return *stop. */
static bool left_by_exit(struct cpu *cpu, u32 id, enum dbt_stop *stop)
{
	const struct exit *x = &cache.exit[id];

	cpu->rip = x->target;
	switch ((enum exit_kind)x->kind) {
	case EXIT_SYSCALL:
		/* What the instruction itself does. */
		cpu_set_gpr(cpu, RCX, cpu->rip);
		cpu_set_gpr(cpu, R11, cpu->rflags);
		*stop = DBT_SYSCALL;
		return true;
	case EXIT_SYSENTER:
		*stop = DBT_SYSENTER;
		return true;
	case EXIT_RDPMC:
		*stop = DBT_RDPMC;
		return true;
	case EXIT_STALE:
		dbt_forget(x->frag);
		return false;
	case EXIT_BRANCH:
		return false;
	}
	return false;
}

static enum dbt_stop run(struct cpu *cpu, struct dbt_fault *fault)
{
	u32 exit = 0;
	bool indirect = false;
	enum dbt_stop stop;

	for (;;) {
		u32 want = __atomic_load_n(&cpu->want, __ATOMIC_ACQUIRE);
		u32 entry;

		if (want != cpu->variant) {
			stat_inc(variant_switches);
			cpu->variant = want;
			exit = 0;
		}
		/* From here until the exit that it is left by has been read, this half of the cache stays. */
		__atomic_store_n(&cpu->epoch, cache.epoch, __ATOMIC_SEQ_CST);
		entry = find_way(cpu, exit, indirect, fault);
		if (!entry)
			return DBT_FAULT;
		exit = 0;
		indirect = false;
		cpu->rflags = (cpu->rflags & ~RFLAGS_TF) | RFLAGS_FIXED;
		switch (dbt_enter(cpu, cache.entry[entry].host)) {
		case LEFT_EXIT:
			exit = (u32)cpu->exit_id;
			if (left_by_exit(cpu, exit, &stop))
				return stop;
			break;
		case LEFT_INDIRECT:
			cpu->rip = cpu->target;
			indirect = true;
			stat_inc(lookups);
			break;
		default:
			return DBT_INTERRUPT;
		}
	}
}

enum dbt_stop dbt_run(struct cpu *cpu, struct dbt_fault *fault)
{
	enum dbt_stop stop = run(cpu, fault);

	__atomic_store_n(&cpu->epoch, 0, __ATOMIC_RELEASE);
	return stop;
}
