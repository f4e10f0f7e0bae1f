/*
 * When the half of the cache that is being filled is full, or waste for the most part, everything is forgotten and the
 * other half is begun.
 *
 * A thread may still be inside the old half: its branches there lead out (exits are unlinked, lookups miss), so it
 * leaves soon. Before the old half is begun again, flush_all() makes sure that everyone has: each thread notes in
 * cpu->epoch, while it is in the cache, the epoch in which it looked up the code that it entered.
 */
#include "dbt/flush.h"
#include "dbt/cache.h"
#include "dbt/dbt.h"
#include "dbt/invalidate.h"
#include "dbt/mixes.h"
#include "rt/log.h"

static bool still_inside(struct cpu *cpu, void *arg)
{
	u32 epoch = __atomic_load_n(&cpu->epoch, __ATOMIC_ACQUIRE);

	return epoch && epoch < *(u32 *)arg;
}

bool flush_would_wait(void)
{
	u32 epoch = cache.epoch;

	check_slow(lock_held(RANK_DBT));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return dbt_host_any_cpu(still_inside, &epoch);
}

bool flush_all(void)
{
	if (flush_would_wait())
		return false;
	cache_switch_half();
	return true;
}

void dbt_mend(void)
{
	mixes_mend();
	cache_mend();
	invalidate_mend();
}
