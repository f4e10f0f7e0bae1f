/*
 * How an event's state changes: of event/event.c, for those in event/ that make events come and go. With the event
 * lock.
 */
#ifndef EVENT_STATE_H
#define EVENT_STATE_H

#include "event/event.h"

/* Brings the times of a group up to now. */
void event_update_group(struct event *leader, u64 now);

/* The leader is about to be enabled or disabled: times of its siblings up to now were as it was. */
void event_leader_changes(struct event *e, u64 now);

/* Schedules the group in, if its leader is enabled and the task on its CPU, or out. */
void event_set_group(struct event *leader, bool on, u64 now);

/*
 * A per-CPU event has been enabled or disabled: its children have no groups of their own, so those of its group follow
 * it, too, if it leads one.
 */
void event_sched_system_group(struct event *e);

/* Its task looks again at what it has to watch for. */
void event_hits_changed(const struct event *e);

/* Any change of state: ACTIVE only from INACTIVE. */
void event_set_state(struct event *e, s64 state, u64 now);

#endif
