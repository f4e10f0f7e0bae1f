/*
 * Children that are made when they are needed: those of inherited events that are bound to a CPU, and those of per-CPU
 * events. perf opens one event for each CPU, and a task is seen on few CPUs: so a task gets such a child when it is
 * first seen on the event's CPU, and until then costs nothing but its place here.
 *
 * A lineage is a task's CPU-bound inherited events (its roots) and the tasks that descend from it and inherit them (its
 * heirs). The roots join at their task's next fork, in order; an heir has inherited those that had joined by then (seq
 * below its own). A task inherits later from one lineage only: its parent's other events it inherits at the fork.
 *
 * Rules, all with event_lock():
 * 1. A task that has been seen on a CPU (ctx.seen) has all children of that CPU that it is to have.
 * 2. A child that is not made yet (pending) has counted nothing, and has been enabled for all of its task's CPU time or
 *    for none: root.lineage_on. Whatever changes that, or what the child would be, makes all pending children of the
 *    root first (lineage_settle()).
 */
#ifndef EVENT_LINEAGE_H
#define EVENT_LINEAGE_H

#include "event/space.h"

static inline bool lineage_has_seen(task_id task, s32 cpu)
{
	return (u32)cpu >= EVENT_CPUS || event_ctx(task)->seen[cpu / 64] >> cpu % 64 & 1;
}

/* The task is, or may be, on that CPU: it gets the children that it has not. */
void lineage_see(task_id task, s32 cpu);

/* At a fork, before anything is inherited: what the new task inherits later. */
void lineage_fork(task_id parent, task_id child);
/* The group that the parent's event e leads is inherited later. */
bool lineage_is_later(const struct event *e, task_id child);

/* A task has ended: its pending children are added to their roots, as those that were made are by event_exit(). */
void lineage_exit(task_id task);

/* Makes all pending children of the root and of its group. */
void lineage_settle(struct event *root);
/* The root's family has been enabled or disabled. */
void lineage_switched(struct event *root, bool on);
/* The root is about to go. */
void lineage_close(struct event *root);

/* Some task has inherited the root and lives. */
bool lineage_has_heirs(const struct event *root);
/* For how long the pending children of the root have been enabled. */
u64 lineage_enabled(const struct event *root);

const char *lineage_validate(void);

#endif
