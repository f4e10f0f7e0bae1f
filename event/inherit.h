/* Children of events on new tasks. With event_lock() held. */
#ifndef EVENT_INHERIT_H
#define EVENT_INHERIT_H

#include "event/space.h"

/* The kernel's perf_event_init_task(): 0 or -ENOMEM, with some of the children made. */
int inherit_task(task_id parent, task_id child, u64 clone_flags);

/* The child of a per-CPU event on one task: 0 or -ENOMEM. */
int inherit_system_event(struct event *e, task_id task);

#endif
