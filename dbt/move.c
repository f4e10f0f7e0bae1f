/*
 * A half of the cache goes to another place, since the guest wants its addresses. See dbt/dbt.h.
 *
 * The half in use is left first, as when it is full (dbt/flush.c): all is forgotten and the other half is begun. A
 * thread that is still inside leaves at the next branch, and says so in cpu->epoch; until then the half stays.
 *
 *   here                                    a thread on its way in
 *   the other half, then a higher epoch     cpu->epoch = cache.epoch (A)
 *   full fence (A)                          cache.generation (A)
 *   is any cpu->epoch an older one?         as it was: go on in that code; else: look for it with dbt_lock
 */
#include <asm/errno.h>
#include "dbt/cache.h"
#include "dbt/cache_memory.h"
#include "dbt/dbt.h"
#include "dbt/flush.h"
#include "rt/log.h"
#include "rt/stats.h"

void dbt_half_place(u32 half, gva *start, gva *end)
{
	const struct half_place *p = &cache.place[half];

	*start = p->start;
	*end = p->start + ALIGN_UP(p->end - p->start, HUGE_SIZE);
}

u32 dbt_half_in_use(void)
{
	return __atomic_load_n(&cache.half, __ATOMIC_RELAXED);
}

static int move_locked(u32 half, gva start, u64 size)
{
	if (half == cache.half && !cache_is_new() && !flush_all())
		return -EAGAIN;
	if (flush_would_wait())
		return -EAGAIN;
	stat_inc(cache_moves);
	return cache_move_half(half, start, size);
}

int dbt_move_half(u32 half, gva start, u64 size)
{
	int ret;

	check(half < 2 && !((start | size) % HUGE_SIZE) && size <= DBT_HALF_FULL);
	lock_acquire(&dbt_lock);
	ret = move_locked(half, start, size);
	cache_unlock();
	return ret;
}
