/* Seam between an event's life (event.c) and the repair. With the lock held. */
#ifndef EVENT_FOLD_H
#define EVENT_FOLD_H

#include "event/space.h"

/* Adds a SLOT_FOLDING child to its parent; once, wherever the last one who tried was stopped. */
void event_fold(struct event *e);

/* The same of a child that was never made, and has been enabled for so long. id: as of no other child. */
void event_fold_pending(struct event *root, u64 id, u64 enabled);

/* Its source is what host_task_count() tells. */
static inline bool event_is_measured(const struct event *e)
{
	return pmu_by_number(e->pmu)->capabilities & PMU_SOFTWARE;
}

/* The event belongs on its context's list. */
bool event_in_ctx(const struct event *e);

#endif
