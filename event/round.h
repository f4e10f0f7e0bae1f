/*
 * One look at all events of a task that sample: finds those that overflow (event/overflow.c), and tells the drivers
 * where the next overflows are (event/arm.c). By the task itself, with its context's lock.
 */
#ifndef EVENT_ROUND_H
#define EVENT_ROUND_H

#include "event/event.h"
#include "event/overflow.h"

#define SOURCES_MAX 32 /* that drivers can limit, for one task */
#define EARLY 50000    /* ns that a timer may be early by the perf clock */

/* One call from the task; the work is done in a section, and again if that restarts. */
struct round {
	task_id task;
	bool whole; /* it takes event_lock() */
	struct event_ctx *ctx;
	const struct snapshot *snap;
	struct overflow_result *out;
	/* Of the section; see round_begin(). */
	u64 time; /* perf clock; 0: not asked yet */
	u64 waking; /* task clock before the first overflow that wakes somebody; 0: there was none */
	bool any; /* something overflowed */
	bool ended; /* and that was the last of an event_limit: some are to be disabled */
	bool changed; /* and that may have changed what other events need */
	/* What the active events need that were looked at so far. */
	bool ticks, timer, coarse; /* see needs_ticks() and so on */
	u64 at; /* task clock of the nearest overflow of a clock, and of event_ctx.look; ~0: none */
	u32 pmus; /* bit per driver with a source */
	u32 nr_sources;
	struct pmu_limit source[SOURCES_MAX]; /* each is read once */
};

static UNNOTED inline u64 round_time(struct round *r)
{
	if (!r->time)
		r->time = r->snap && r->snap->time ? r->snap->time : host_clock_perf();
	return r->time;
}

/* Nothing stops the task at its limit. */
READS bool has_no_limit(const struct event *e)
{
	return e->source.polled || e->source.hits;
}

/* Reads the source of an event that a driver limits; NULL: there is no room. */
struct pmu_limit *round_add_source(struct round *r, const struct event *e);

/* The event's source as it stands in this round; NULL: no driver limits the event. */
static UNNOTED inline struct pmu_limit *round_source(struct round *r, const struct event *e)
{
	if (has_no_limit(e) || e->source.clock)
		return NULL;
	for (u32 i = 0; i < r->nr_sources; i++)
		if (r->source[i].source == e->source.source && r->source[i].pmu == e->pmu)
			return &r->source[i];
	return round_add_source(r, e);
}

/* ---- what an event needs besides limits ---- */

READS bool needs_ticks(const struct event *e)
{
	return e->throttled | e->attr.freq | e->source.polled;
}

/* A tick of its own, by a timer. */
READS bool needs_timer(const struct event *e)
{
	return e->throttled || e->source.polled;
}

/*
 * The same now and then: the period may have become far too long for the task's pace, and only ticks shorten it before
 * it is over.
 */
READS bool needs_coarse_timer(const struct event *e)
{
	return e->attr.freq && !has_no_limit(e) && !e->source.clock;
}

/* ---- event/arm.c ---- */

/* The look begins: no event was seen yet. */
void round_see_none(struct round *r);
/* Notes what an active event needs: its limit, ticks. s: its source, if a driver limits it. */
void round_see(struct round *r, const struct event *e, struct pmu_limit *s);
/* All of that for every active event that samples, from the beginning. */
void round_see_all(struct round *r);
/*
 * When all have been seen: tells the drivers, and the timer, what they need. again: the timer is set whatever it was.
 */
void round_arm(struct round *r, bool again);

#endif
