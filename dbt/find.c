/* See dbt/find.h. */
#include "dbt/find.h"
#include "dbt/breaks.h"
#include "dbt/cache.h"
#include "dbt/cache_memory.h"
#include "dbt/dbt.h"
#include "dbt/flush.h"
#include "dbt/ibl.h"
#include "dbt/polls.h"
#include "dbt/run.h"
#include "dbt/siblings.h"
#include "dbt/translate.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/sys.h"

/* For one more fragment of the cpu's variant, which it returns. With dbt_lock, which it may release for a while. */
static u32 make_room(struct cpu *cpu)
{
	u32 variant;

	__atomic_store_n(&cpu->epoch, 0, __ATOMIC_RELEASE);
	if (cache_is_waste())
		flush_all(); /* or later */
	while (!cache_has_room() || (variant = cache_variant_get(cpu->variant)) == NO_VARIANT)
		if (!flush_all()) {
			cache_unlock();
			sys0(__NR_sched_yield);
			lock_acquire(&dbt_lock);
		} else if (!cache_has_room()) {
			log_printf(0, "no memory for the code cache");
			cache_end();
		}
	__atomic_store_n(&cpu->epoch, cache.epoch, __ATOMIC_SEQ_CST);
	return variant;
}

/* It is an exit of this variant to pc, not linked yet, and of code in the half in use that is not dead. */
static bool can_link(u32 exit, u32 variant, u64 pc)
{
	const struct exit *x = &cache.exit[exit];

	return exit && !dbt_options.no_links && x->patch && !x->linked && x->kind != EXIT_AHEAD &&
	       x->variant == variant && x->target == pc && x->frag >= cache.first_frag && x->frag < cache.nfrag &&
	       !cache.frag[x->frag].dead;
}

u32 find_locked(struct cpu *cpu, u64 pc, u32 exit, bool indirect, struct dbt_fault *fault)
{
	u32 variant, entry, made = 0;
	struct variant *v;

again:
	variant = cache_has_room() && !cache_is_waste() ? cache_variant_get(cpu->variant) : NO_VARIANT;
	if (variant == NO_VARIANT) {
		variant = make_room(cpu);
		exit = 0;
	}
	cache_touch_ahead();
	v = &cache.variant[variant];
	entry = cache_find(v, pc);
	if (!entry)
		entry = made = translate(variant, pc, can_link(exit, variant, pc) ? exit : 0, indirect, fault);
	if (!entry)
		return 0;
	if (unlikely(cache.frag[cache.entry[entry].frag].dead)) /* it was found to hold a critical section */
		goto again;
	if (can_link(exit, variant, pc)) {
		cache_exit_link(exit, polls_link(exit, entry) ? entry : polls_in_front(exit, entry));
		if (made && cache.exit[exit].linked == made)
			translate_shorten(exit);
		stat_inc(links);
	} else {
		exit = 0;
	}
	indirect &= !dbt_options.no_ibl && !((v->want & CPU_WANT_BREAK) && breaks_at(pc));
	if (indirect)
		ibl_install(v, entry);
	if (made || exit || indirect)
		siblings_note(v->want, pc, exit, indirect);
	return entry;
}

static u64 notify_pc; /* 0: none */

void dbt_notify_before(u64 pc)
{
	notify_pc = pc;
}

static u32 find_or_make(struct cpu *cpu, u32 exit, bool indirect, struct dbt_fault *fault)
{
	u32 entry;

	if (unlikely(notify_pc && cpu->rip == notify_pc)) {
		notify_pc = 0;
		dbt_host_notify();
	}
	lock_acquire(&dbt_lock);
	if (run_hold_cache_locked(cpu))
		exit = 0;
	entry = find_locked(cpu, cpu->rip, exit, indirect, fault);
	cache_unlock();
	return entry;
}

u32 run_find(struct cpu *cpu, u32 exit, bool indirect, struct dbt_fault *fault)
{
	u32 variant = cache_variant(cpu->variant), entry = 0;
	bool own = !__atomic_load_n(&cache.touches_ahead, __ATOMIC_RELAXED);

	if (own)
		dbt_host_own_work(true);
	if (variant != NO_VARIANT && !exit && !indirect) {
		entry = ibl_find(&cache.variant[variant], cpu->rip);
		if (!entry)
			entry = cache_find(&cache.variant[variant], cpu->rip);
	}
	if (!entry)
		entry = find_or_make(cpu, exit, indirect, fault);
	if (own)
		dbt_host_own_work(false);
	return entry;
}
