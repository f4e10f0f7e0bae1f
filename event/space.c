/* See space.h. */
#include "event/space.h"

#include "event/pmu.h"
#include "rt/log.h"

struct event_space *event_space;
u64 event_lock_turn;

size_t event_space_size(void)
{
	return sizeof(struct event_space);
}

void event_space_attach(void *mem)
{
	event_space = mem;
	if (!event_space->next_id)
		event_space_init(mem);
	pmu_init();
}

void event_lock(void)
{
	slock_acquire(&event_space->lock);
	event_lock_turn++;
}

void event_unlock(void)
{
	check_slow(!event_validate());
	slock_release(&event_space->lock);
}

u32 event_count(void)
{
	u32 n = 0;

	for (u32 nr = 1; nr < event_space->slots_high; nr++)
		n += event_slot(nr)->slot != SLOT_FREE;
	return n;
}
