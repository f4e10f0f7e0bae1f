/* What others ask of an event's life (event.c). With the lock held. */
#ifndef EVENT_FOLD_H
#define EVENT_FOLD_H

#include "event/space.h"

/* A child that was never made, and has been enabled for so long, is added to its root. */
void event_fold_pending(struct event *root, u64 enabled);

/* Its source is what host_task_count() tells. */
static inline bool event_is_measured(const struct event *e)
{
	return pmu_by_number(e->pmu)->capabilities & PMU_SOFTWARE;
}

/* The event belongs on its context's list. */
bool event_in_ctx(const struct event *e);

#endif
