/* See dbt/polls.h. */
#include "dbt/polls.h"
#include "dbt/cache.h"
#include "dbt/translate.h"
#include "rt/log.h"
#include "rt/stats.h"

bool polls_link(u32 exit, u32 entry)
{
	const struct exit *x = &cache.exit[exit];

	return x->kind != EXIT_BRANCH || x->distance <= cache.entry[entry].distance;
}

u32 polls_in_front(u32 exit, u32 entry)
{
	struct entry *e = &cache.entry[entry];

	check_slow(lock_held(RANK_DBT) && !polls_link(exit, entry));
	for (u32 poll = e->poll; poll; poll = cache.entry[poll].poll)
		if (polls_link(exit, poll) && !cache.frag[cache.entry[poll].frag].dead)
			return poll;
	stat_inc(polls);
	return translate_poll(cache.frag[e->frag].variant, entry,
			      (u32)ALIGN_UP((u64)cache.exit[exit].distance, POLL_STEP));
}

u32 polls_behind(u32 entry)
{
	const struct entry *e = &cache.entry[entry];
	u32 to = e->insns ? 0 : __atomic_load_n(&cache.exit[e->exit + 1].linked, __ATOMIC_RELAXED);

	return to ? to : entry;
}
