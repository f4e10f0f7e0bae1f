/* Children of events on new tasks. With event_lock() held. */
#ifndef EVENT_INHERIT_H
#define EVENT_INHERIT_H

#include "event/space.h"

/* The kernel's perf_event_init_task(): 0 or -ENOMEM, with some of the children made. */
int inherit_task(task_id parent, task_id child, u64 clone_flags);

/* A child in state SLOT_NEW; from: the parent's event on another task, or the root. NULL: no slot is left. */
struct event *inherit_child(struct event *from, task_id task, s64 state, u64 now);

/* The child of a per-CPU event on one task: 0 or -ENOMEM. */
int inherit_system_event(struct event *e, task_id task);

#endif
