/* See dbt/siblings.h. */
#include <linux/mman.h>
#include "dbt/siblings.h"
#include "dbt/cache.h"
#include "dbt/cache_memory.h"
#include "dbt/code_memory.h"
#include "dbt/dbt.h"
#include "dbt/find.h"
#include "dbt/polls.h"
#include "dbt/run.h"
#include "dbt/translate.h"
#include "rt/lock.h"
#include "rt/log.h"
#include "rt/stats.h"

struct family {
	struct siblings *at; /* NULL: nowhere */
	u32 parent;
};

/* Of this process. */
static struct {
	struct family own, children; /* where this process and its siblings note things, and where its children do */
	u32 taken;		     /* so many of the children's notes are done */
	u32 first_exit;		     /* the first one that the parent does not have */
	u32 made, found;	     /* blocks: for its children, and by its parent */
} its WRITTEN_BY_FORK;

static u32 hash_of(const struct sibling_note *n)
{
	return (u32)(cache_hash(n->pc ^ cache_hash((u64)n->parent << 32 | n->how)) >> 32) | 1;
}

static void put(struct siblings *s, const struct sibling_note *n)
{
	struct sibling_note *to = &s->note[__atomic_fetch_add(&s->n, 1, __ATOMIC_RELAXED) % SIBLINGS_NOTES];

	__atomic_store_n(&to->pc, n->pc, __ATOMIC_RELAXED);
	__atomic_store_n(&to->parent, n->parent, __ATOMIC_RELAXED);
	__atomic_store_n(&to->how, n->how, __ATOMIC_RELAXED);
}

/* It may be one half of a note and one of another: each is checked. */
static struct sibling_note get(const struct siblings *s, u32 i)
{
	const struct sibling_note *from = &s->note[i % SIBLINGS_NOTES];

	return (struct sibling_note){
		.pc = __atomic_load_n(&from->pc, __ATOMIC_RELAXED),
		.parent = __atomic_load_n(&from->parent, __ATOMIC_RELAXED),
		.how = __atomic_load_n(&from->how, __ATOMIC_RELAXED),
	};
}

/* Code near a limit is another one for each child, and page faults are to come where they would without pcl. */
static bool is_lasting(u32 want)
{
	return !cpu_stops_at_limits(want) && !(want & (CPU_WANT_ONE | CPU_WANT_FINE | CPU_WANT_TOUCH));
}

void siblings_note(u32 want, u64 pc, u32 exit, bool indirect)
{
	struct sibling_note note = {.pc = pc, .parent = its.own.parent};
	u32 hash, *seen;

	check_slow(lock_held(RANK_DBT));
	if (!its.own.at || !is_lasting(want))
		return;
	note.how = (exit < its.first_exit ? exit : 0) | (indirect ? SIBLING_INDIRECT : 0);
	hash = hash_of(&note);
	seen = &its.own.at->seen[(hash >> 1) % SIBLINGS_SEEN];
	if (__atomic_exchange_n(seen, hash, __ATOMIC_RELAXED) != hash)
		return;
	__atomic_store_n(seen, 0, __ATOMIC_RELAXED);
	put(its.own.at, &note);
}

void siblings_forked(void)
{
	its.own = code_distance ? (struct family){NULL} : its.children; /* there the child's cache begins empty */
	its.children.at = NULL;
	its.first_exit = cache.nexit;
	its.found += its.made;
	its.made = 0;
}

u32 siblings_found(void)
{
	return its.found;
}

/* No page is protected, and none is read that the guest cannot execute, for what may never be executed. */
static bool is_constant(u64 pc)
{
	struct dbt_mapping m;

	return !dbt_host_mapping(pc, &m) && (m.prot & (PROT_EXEC | PROT_WRITE)) == PROT_EXEC && !m.shared;
}

/* Exits of new code have other numbers in each process: they are linked to what there is. */
static void link_exits(u32 from)
{
	for (u32 id = from; id < cache.nexit && !dbt_options.no_links; id++) {
		const struct exit *x = &cache.exit[id];
		u32 to;

		if (x->kind != EXIT_BRANCH || !x->patch || x->linked || cache.frag[x->frag].dead)
			continue;
		to = cache_find(&cache.variant[x->variant], x->target);
		if (to && polls_link(id, to))
			cache_exit_link(id, to);
	}
}

static void take(struct cpu *cpu, u32 end)
{
	u32 exits = cache.nexit, entries = cache.nentry, half = cache.half;
	struct dbt_fault ignored;

	if (end - its.taken > SIBLINGS_NOTES)
		its.taken = end - SIBLINGS_NOTES;
	for (; its.taken != end && cache_has_room(); its.taken++) {
		struct sibling_note note = get(its.children.at, its.taken);
		u32 exit = note.how & ~SIBLING_INDIRECT;

		if (exit <= half * MAX_EXITS || exit >= exits)
			exit = 0;
		if (note.parent == its.children.parent && is_constant(note.pc))
			find_locked(cpu, note.pc, exit, note.how & SIBLING_INDIRECT, &ignored);
	}
	link_exits(exits);
	its.made += cache.nentry - entries;
	stat_add(siblings, cache.nentry - entries);
	its.taken = end;
}

/* With dbt_lock. */
static void before_fork(struct cpu *cpu, struct siblings *siblings, u32 parent)
{
	u32 end;

	if (!its.children.at) {
		its.children = (struct family){siblings, parent};
		its.taken = __atomic_load_n(&siblings->n, __ATOMIC_RELAXED);
	}
	end = __atomic_load_n(&its.children.at->n, __ATOMIC_RELAXED);
	if (end == its.taken || !is_lasting(cpu->variant) || cache_variant(cpu->variant) == NO_VARIANT)
		return;
	/* Twice: this is not the time when the guest would have page faults there, either (dbt/guest_code.c). */
	dbt_host_own_work(true);
	dbt_host_own_work(true);
	run_hold_cache_locked(cpu);
	take(cpu, end);
	dbt_outside(cpu);
	dbt_host_own_work(false);
	dbt_host_own_work(false);
}

void siblings_before_fork(struct cpu *cpu, struct siblings *siblings, u32 parent)
{
	if (dbt_options.no_siblings)
		return;
	lock_acquire(&dbt_lock);
	before_fork(cpu, siblings, parent);
	cache_unlock();
}
