/*
 * The set of execution breakpoints: against a plain list, with far more addresses over time than it has room for, and
 * beyond its room.
 */
#include <stdlib.h>
#include "tests/unit/unit.h"

#include "dbt/breaks.c"

#define ADDRESSES 4096 /* of the list */
#define ROOM (SLOTS / 2)

struct lock dbt_lock;
static gva invalidated; /* the last one; ANY: all */
static u32 invalidations;

#define ANY 1ul

void cache_unlock(void)
{
	lock_release(&dbt_lock);
}

void dbt_invalidate(gva start, gva end)
{
	invalidated = end - start > 1 ? ANY : start;
	invalidations++;
}

static gva address(u32 i)
{
	return 0x400000 + i * 3ul;
}

static u32 users[ADDRESSES];

static void test_random(void)
{
	u32 wrong = 0;

	srandom(1);
	for (int round = 0; round < 400000; round++) {
		u32 i = (u32)random() % ADDRESSES;
		bool on = random() % 4 < (users[i] ? 1 : 2);
		u32 before = invalidations, was = users[i];

		if (!on && !users[i])
			continue;
		users[i] += on ? 1 : -1;
		dbt_break_set(address(i), on);
		wrong += (invalidations != before) != (!was != !users[i]);
		wrong += invalidations != before && invalidated != address(i);
		i = (u32)random() % ADDRESSES;
		wrong += breaks_at(address(i)) != !!users[i];
	}
	expect_long(wrong, 0);
	expect(used > ADDRESSES / 8);
	dbt_break_clear();
	expect_long(used, 0);
	for (u32 i = 0; i < SLOTS; i++)
		wrong += table[i].key || table[i].users;
	expect_long(wrong, 0);
}

/* Looking takes no longer after a million addresses: else this takes hours. */
static void test_used_up(void)
{
	u32 wrong = 0;

	dbt_break_set(address(0), true);
	for (u32 i = 1; i < 1000000; i++) {
		dbt_break_set(address(i), true);
		wrong += !breaks_at(address(i));
		dbt_break_set(address(i), false);
		wrong += breaks_at(address(i));
	}
	expect_long(wrong, 0);
	expect(breaks_at(address(0)));
	expect_long(used, 1);
	dbt_break_clear();
	expect(!breaks_at(address(0)));
}

/* Where there is no room for one, no instruction goes without; and the end is as the beginning. */
static void test_full(void)
{
	gva first = address(ROOM), second = address(ROOM + 1), free = address(ROOM + 2);

	for (u32 i = 0; i < ROOM; i++)
		dbt_break_set(address(i), true);
	expect(!breaks_at(free));
	dbt_break_set(first, true);
	expect_long(invalidated, ANY);
	expect(breaks_at(first) && breaks_at(free));
	dbt_break_set(second, true);
	dbt_break_set(address(7), false);
	dbt_break_set(first, true); /* now there is room */
	dbt_break_set(first, false);
	expect(breaks_at(first) && breaks_at(second));
	dbt_break_set(first, false);
	expect(breaks_at(second) && breaks_at(free));
	dbt_break_set(second, false);
	expect_long(invalidated, ANY);
	expect(!breaks_at(first) && !breaks_at(second) && !breaks_at(free) && breaks_at(address(0)));
	dbt_break_set(first, true);
	dbt_break_set(second, true);
	expect(breaks_at(free));
	dbt_break_clear();
	expect(!breaks_at(free) && !breaks_at(address(0)));
	expect_long(used, 0);
}

int main(void)
{
	lock_init(&dbt_lock, RANK_DBT);
	test_random();
	test_used_up();
	test_full();
	return unit_result();
}
