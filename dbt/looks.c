/* See dbt/looks.h. Blocks that were asked are a bit each in a table by hash: others with the same hash look too. */
#include "dbt/looks.h"
#include "dbt/cache.h"
#include "dbt/dbt.h"
#include "dbt/invalidate.h"
#include "dbt/translate.h"
#include "rt/stats.h"

#define HASH_BITS 19
#define LOOKS_BEHIND 4

static u8 asked[(1u << HASH_BITS) / 8];

static u32 hash(u64 pc)
{
	return (u32)(pc * 0x9e3779b97f4a7c15 >> (64 - HASH_BITS));
}

bool looks_asked(u64 pc)
{
	u32 h = hash(pc);

	return asked[h / 8] >> h % 8 & 1;
}

bool looks_link(u32 exit, u32 entry)
{
	const struct exit *x = &cache.exit[exit];

	return x->kind != EXIT_BRANCH || x->age <= cache.entry[entry].age + looks_slack(cache.frag[x->frag].pc, x->target);
}

u32 looks_in_front(u32 entry)
{
	struct entry *e = &cache.entry[entry];

	if (!e->look || cache.frag[cache.entry[e->look].frag].dead) {
		stat_inc(looks);
		e->look = translate_look(cache.frag[e->frag].variant, entry);
	}
	return e->look;
}

u32 looks_behind(u32 entry)
{
	const struct entry *e = &cache.entry[entry];
	u32 to = e->insns ? 0 : __atomic_load_n(&cache.exit[e->exit + 1].linked, __ATOMIC_RELAXED);

	return to ? to : entry;
}

void dbt_look(gva pc)
{
	lock_acquire(&dbt_lock);
	if (!looks_asked(pc)) {
		u32 h = hash(pc);

		stat_inc(looks);
		asked[h / 8] |= (u8)(1u << h % 8);
		dbt_forget_block(pc, CPU_WANT_LOOSE);
	}
	cache_unlock();
}

void looks_hot(u32 exit)
{
	const struct exit *x = &cache.exit[exit];
	u32 in_front = 0;
	gva pc;

	if (x->kind != EXIT_LOOK || !x->cool)
		return;
	lock_acquire(&dbt_lock);
	if (x->kind != EXIT_LOOK || x->frag < cache.first_frag || x->frag >= cache.nfrag || cache.frag[x->frag].dead) {
		cache_unlock();
		return;
	}
	if (cache.frag[x->frag].look)
		in_front = x->frag;
	while (x->kind != EXIT_BRANCH)
		x++;
	pc = x->target;
	cache_unlock();
	if (in_front)
		dbt_forget(in_front);
	dbt_look(pc);
}

void dbt_look_behind(u32 exit)
{
	gva targets[LOOKS_BEHIND];
	const struct frag *f;
	u32 n = 0;

	lock_acquire(&dbt_lock);
	f = exit < cache.nexit && cache.exit[exit].kind == EXIT_LOOK ? &cache.frag[cache.exit[exit].frag] : NULL;
	if (f && cache.exit[exit].frag >= cache.first_frag && !f->dead) {
		f = &cache.frag[cache.entry[looks_behind(f->entry)].frag];
		for (u32 i = f->exit; i < f->exit + f->nexit && n < LOOKS_BEHIND; i++)
			if (cache.exit[i].kind == EXIT_BRANCH && cache.exit[i].linked && cache.exit[i].target != cache.exit[exit].target)
				targets[n++] = cache.exit[i].target;
	}
	cache_unlock();
	for (u32 i = 0; i < n; i++)
		dbt_look(targets[i]);
}
