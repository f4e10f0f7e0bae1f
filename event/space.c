/* See space.h. */
#include "event/space.h"

#include "event/pmu.h"
#include "rt/log.h"

struct event_space *event_space;

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
}

/* Debug builds: says what is wrong, then where. */
static void check_tables(void)
{
#ifdef PCL_DEBUG
	const char *why = event_validate();

	if (why)
		log_printf(0, "the event tables: %s", why);
	check(!why);
#endif
}

void event_unlock(void)
{
	check_tables();
	slock_release(&event_space->lock);
}

void ctx_lock(task_id task)
{
	slock_acquire(&event_ctx(task)->lock);
}

void ctx_unlock(task_id task)
{
	slock_release(&event_ctx(task)->lock);
}

UNNOTED __attribute__((noinline)) void event_flag_set(u32 *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

u32 event_count(void)
{
	u32 n = 0;

	for (u32 nr = 1; nr < event_space->slots_high; nr++)
		n += event_slot(nr)->slot != SLOT_FREE;
	return n;
}
