/*
 * Execution breakpoints: a hash table with open addressing. It is never more than half full, since each address is that of an event, and
 * a session has not more of those.
 */
#include <asm-generic/errno-base.h>
#include "dbt/breaks.h"
#include "dbt/cache.h"
#include "dbt/dbt.h"

#define SLOTS 32768u

/* Guarded by dbt_lock. */
static struct brk {
	u64 key;   /* address + 1; 0: never used, probing ends here */
	u32 users; /* 0: the slot may be used for another address */
} table[SLOTS];
static u32 used; /* slots with users */

static u32 hash(u64 key)
{
	return (u32)(key * 0x9e3779b97f4a7c15ul >> 49);
}

static struct brk *find(u64 key)
{
	for (u32 i = hash(key), n = 0; n < SLOTS && table[i].key; i = (i + 1) % SLOTS, n++)
		if (table[i].key == key)
			return &table[i];
	return NULL;
}

static struct brk *find_free(u64 key)
{
	u32 i = hash(key);

	while (table[i].users)
		i = (i + 1) % SLOTS;
	return &table[i];
}

bool breaks_at(gva pc)
{
	const struct brk *b = used ? find(pc + 1) : NULL;

	return b && b->users;
}

/* Returns whether the address came or went. */
static bool change(u64 key, bool on)
{
	struct brk *b = find(key);

	if (!on) {
		if (!b || !b->users || --b->users)
			return false;
		used--;
		return true;
	}
	if (!b) {
		b = find_free(key);
		b->key = key;
	}
	if (b->users++)
		return false;
	used++;
	return true;
}

int dbt_break_set(gva addr, bool on)
{
	bool changed = false, room;

	lock_acquire(&dbt_lock);
	room = !on || used < SLOTS / 2;
	if (room)
		changed = change(addr + 1, on);
	lock_release(&dbt_lock);
	if (changed)
		dbt_invalidate(addr, addr + 1);
	return room ? 0 : -ENOMEM;
}

void dbt_break_clear(void)
{
	for (u32 i = 0; used && i < SLOTS; i++)
		while (table[i].users)
			dbt_break_set(table[i].key - 1, false);
}
