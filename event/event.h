/*
 * One event: its states, what it counted and for how long. All functions need event_lock().
 *
 * An event counts (PERF_STATE_ACTIVE, scheduled in) while it and its leader are enabled, its task lives and is on the
 * event's CPU, and its group has its counters if these are limited (counters.h). Times advance with the context's
 * clock: a task's CPU time, or CLOCK_MONOTONIC for per-CPU events.
 */
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include "event/space.h"

/* A free slot in state SLOT_NEW, zeroed, with an id; NULL if all are taken. */
struct event *event_alloc(void);
/* From SLOT_NEW to SLOT_LIVE: joins its context, group and family. The event's fixed fields and tally are set. */
void event_attach(struct event *e);
/* Takes an event out of everything and frees it, children first. A leader's siblings become singletons. */
void event_release(struct event *e);
/*
 * The task is gone: a child is added to its parent and freed, a root stays readable as EXIT, in its group. alone: the
 * task and others of the group go on (remove_on_exec), so a root leaves its group (seen on 6.18).
 */
void event_exit(struct event *e, bool alone);

READS const struct event_tally *event_tally(const struct event *e)
{
	return &e->tally;
}

READS bool event_is_leader(const struct event *e)
{
	return e->leader == event_nr(e);
}

READS struct event *event_leader(const struct event *e)
{
	return event_slot(e->leader);
}

/* Where its source stands. */
u64 event_source_now(const struct event *e);

/* The units that it needs. */
READS u32 event_units(const struct event *e)
{
	return e->source.units | (e->attr.sample_period ? e->source.sampling_units : 0);
}

/* A per-CPU event that counts by itself: if it has children, then for their samples. */
READS bool event_counts_alone(const struct event *e)
{
	return !e->task && e->source.per_cpu;
}

/* Its times are those of its children's tasks, besides its own task's; else they are its CPU's. */
READS bool event_has_times_of_tasks(const struct event *e)
{
	return e->task || e->cgroup.at;
}

/* A per-CPU event's child: its copy on one task, which follows it in everything. */
READS bool event_follows_cpu(const struct event *e)
{
	return e->parent && !event_slot(e->parent)->task;
}

/* The context's clock for an event. */
u64 event_clock(const struct event *e);

/*
 * Schedules every event of the group in or out as it should be, and where counters are limited those of its context.
 * now: the context's clock; the same as in the change that led to it, so that no time is enabled but not running.
 */
void event_sched_group(struct event *leader, u64 now);
/* Where the task is matters: event_task_moved() follows it. */
READS bool event_is_followed(task_id task)
{
	const struct event_ctx *ctx = event_ctx(task);

	return __atomic_load_n(&ctx->cpu_bound, __ATOMIC_RELAXED) | __atomic_load_n(&ctx->lineage, __ATOMIC_RELAXED) |
	       __atomic_load_n(&event_space->system.first, __ATOMIC_RELAXED);
}
/* Before the first CPU-bound event of a task: where it is. From then on event_task_moved() follows it. */
void event_see_cpu(task_id task);
/* For a root per-CPU event: its children follow its state. */
void event_sched_system(struct event *e);

/* The kernel's _perf_event_enable, _disable and _reset on one event and all its children. */
void event_enable_family(struct event *e);
void event_disable_family(struct event *e);
void event_reset_family(struct event *e);
void event_enable(struct event *e);
void event_disable(struct event *e);

/* A root's value and times: its own, its children's and those of children that are gone. */
struct event_total {
	u64 count, enabled, running;
};
void event_read_total(struct event *e, bool with_times, struct event_total *out);
/* The same of one event alone. */
void event_read_own(struct event *e, bool with_times, struct event_total *out);
/* A member's count where its group is read: of its children, those whose leader is a child of its leader. */
u64 event_read_member(struct event *e);

/* The task's units as its ACTIVE events need them; tells the drivers if that changed. */
void event_sync_units(task_id task);

#endif
