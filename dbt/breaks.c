/*
 * Execution breakpoints: a hash table with linear probing, at most half full, which closes the gap that an address
 * leaves. A breakpoint for which there is no room is only counted, and while there is such a one every instruction is
 * taken for one that has a breakpoint: that is slow, and right, because who stops there looks for himself.
 */
#include "dbt/breaks.h"
#include "dbt/cache.h"
#include "dbt/dbt.h"
#include "rt/log.h"

#define SLOTS 32768u

/* Guarded by dbt_lock. */
static struct brk {
	u64 key; /* address + 1; 0: free */
	u32 users;
} table[SLOTS];
static u32 used;   /* slots with a key */
static u32 others; /* users of addresses that are not in the table */

static u32 home(u64 key)
{
	return (u32)(key * 0x9e3779b97f4a7c15ul >> 49);
}

/* The slot of the key, or the free one where it belongs. */
static u32 find(u64 key)
{
	u32 i = home(key);

	while (table[i].key && table[i].key != key)
		i = (i + 1) % SLOTS;
	return i;
}

/* What comes after the gap and may not be found across it moves there. */
static void empty(u32 gap)
{
	check_slow(used && table[gap].key);
	for (u32 i = (gap + 1) % SLOTS; table[i].key; i = (i + 1) % SLOTS) {
		if ((i - home(table[i].key)) % SLOTS < (i - gap) % SLOTS)
			continue;
		table[gap] = table[i];
		gap = i;
	}
	table[gap] = (struct brk){0};
	used--;
}

bool breaks_at(gva pc)
{
	return others || (used && table[find(pc + 1)].key);
}

/* What has changed. */
enum change { NOTHING, ADDRESS, ANY_ADDRESS };

static enum change set(u64 key)
{
	struct brk *b = &table[find(key)];

	if (!b->key && used == SLOTS / 2)
		return others++ ? NOTHING : ANY_ADDRESS;
	used += !b->key;
	check(used <= SLOTS / 2); /* searches end */
	b->key = key;
	return b->users++ ? NOTHING : ADDRESS;
}

/* An address that came into the table later than it was counted among the others has its last users there. */
static enum change clear(u64 key)
{
	u32 i = find(key);

	if (!table[i].key) {
		if (!others)
			return NOTHING;
		return --others ? NOTHING : ANY_ADDRESS;
	}
	if (--table[i].users)
		return NOTHING;
	empty(i);
	return ADDRESS;
}

void dbt_break_set(gva addr, bool on)
{
	enum change change;

	lock_acquire(&dbt_lock);
	change = on ? set(addr + 1) : clear(addr + 1);
	cache_unlock();
	if (change == ADDRESS)
		dbt_invalidate(addr, addr + 1);
	else if (change == ANY_ADDRESS)
		dbt_invalidate(0, ~0ul);
}

void dbt_break_clear(void)
{
	u32 i = 0;

	if (others) { /* a child of a fork does not write to this page for nothing */
		dbt_invalidate(0, ~0ul);
		others = 0;
	}
	while (used && i < SLOTS) {
		if (table[i].key) {
			table[i].users = 1;
			dbt_break_set(table[i].key - 1, false);
		} else {
			i++;
		}
	}
}
