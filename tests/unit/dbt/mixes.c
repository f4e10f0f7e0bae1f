/*
 * The words that mixes get: code that runs together adds to words whose displacements differ modulo 1024, and a mix
 * whose word would not gets another one; but each word of a mix stands for it.
 */
#include <stdlib.h>
#include "dbt/cache.h"
#include "dbt/dbt.h"
#include "dbt/mixes.h"
#include "tests/unit/unit.h"

#define CELLS (1u << CELL_INSTRUCTIONS | 1u << CELL_LOADS)

struct lock dbt_lock;

void cache_unlock(void)
{
	lock_release(&dbt_lock);
}

bool dbt_host_any_cpu(bool (*test)(struct cpu *cpu, void *arg), void *arg)
{
	return false;
}

static s32 word(s32 insns, s32 loads)
{
	s32 amount[CELL_NR] = {[CELL_INSTRUCTIONS] = insns, [CELL_LOADS] = loads};

	return mixes_word(amount, CELLS, false);
}

static bool stands_for(s32 disp, s32 insns, s32 loads)
{
	u32 n;
	const struct mix *mix = &mixes_all(&n)[(disp - BANK_AT(mixed)) / 8];

	return mix->of[CELL_INSTRUCTIONS] == insns && mix->of[CELL_LOADS] == loads;
}

static s32 tag_of(s32 disp)
{
	return disp & 1023;
}

/* Many mixes, twelve of which come together each time, so that every two of them do some time. */
static void test_neighbours(void)
{
	static const s32 fixed[] = {CPU_AT(stolen), CPU_AT(spill[0]), CPU_AT(spill[1]),
				    BANK_AT(not_taken[0]), BANK_AT(not_taken[3]), BANK_AT(cycles[0]),
				    BANK_AT(cycles[3])};
	s32 near[12] = {0};
	u32 same = 0, wrong = 0, beside = 0;

	for (u32 i = 0; i < 60000; i++) {
		s32 insns = 1 + (s32)(random() % 30), loads = (s32)(random() % 10);
		s32 disp = word(insns, loads);

		wrong += !stands_for(disp, insns, loads);
		for (u32 k = 0; k < ARRAY_SIZE(near); k++)
			same += i >= 12 && near[k] != disp && tag_of(near[k]) == tag_of(disp);
		for (u32 k = 0; k < ARRAY_SIZE(fixed); k++)
			beside += tag_of(fixed[k]) == tag_of(disp);
		near[i % ARRAY_SIZE(near)] = disp;
	}
	expect_long(wrong, 0);
	expect_long(beside, 0);
	/* Of 720,000 pairs; with one word for each mix, 1 in 128. */
	expect(same < 200);
}

/* What follows itself, as a loop does, stays at its word. */
static void test_loop(void)
{
	s32 disp = word(31, 1);

	for (u32 i = 0; i < 100; i++)
		expect_long(word(31, 1), disp);
}

static void test_full(void)
{
	u32 n, refused = 0, wrong = 0;

	for (s32 i = 1; i < 20000; i++) {
		s32 disp = word(i, 12);

		refused += !disp;
		wrong += disp && !stands_for(disp, i, 12);
	}
	mixes_all(&n);
	expect(n <= CPU_MIXES);
	expect(refused > 20000 - CPU_MIXES && refused < 20000 - CPU_MIXES / 2);
	expect_long(wrong, 0);
	expect(stands_for(word(7, 3), 7, 3));
	expect_long(word(0, 0), 0);
}

int main(void)
{
	lock_init(&dbt_lock, RANK_DBT);
	lock_acquire(&dbt_lock);
	srandom(1);
	test_neighbours();
	test_loop();
	test_full();
	return unit_result();
}
