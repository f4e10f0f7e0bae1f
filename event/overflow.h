/*
 * Overflow: periods and frequencies, limits, throttling.
 *
 * An ACTIVE sampling event overflows when its source reaches event.next. event_arm() tells the drivers how far away the nearest overflow
 * of each source is; the translator (or a timer) stops the task there; os/ looks at the guest and calls event_overflow().
 * Events whose source is only looked at now and then (source.polled) overflow in event_poll().
 *
 * All functions are called by the task itself, outside translated code, and take event_lock().
 */
#ifndef EVENT_OVERFLOW_H
#define EVENT_OVERFLOW_H

#include "event/sample.h"

/* Tells the drivers the present limits. Call it before the task runs on when event_ctx.rearm is set. */
void event_arm(task_id task);

/* What the caller has to do after an overflow. */
struct overflow_result {
	bool sigtrap;	/* raise SIGTRAP with code TRAP_PERF at shot->ip's successor */
	u64 sig_data, sig_addr;
	u32 sig_type;
};

/* Every event of the task whose limit is reached: writes its samples, counts its overflow, moves its limit on; then as event_arm(). */
void event_overflow(task_id task, const struct shot *shot, struct overflow_result *out);

/* The event (with source.hits) has happened once more: counts it, and overflows if it is time. For breakpoints. */
void event_hit(task_id task, u32 event, u64 event_id, const struct shot *shot, struct overflow_result *out);

/* Looks at the polled sources. Cheap if no such event samples. */
void event_poll(task_id task, const struct shot *shot);

static inline bool event_samples(task_id task)
{
	return unlikely(__atomic_load_n(&event_space->ctx[task].sampling, __ATOMIC_RELAXED));
}

/* For the core, with the event lock: the event was scheduled in, is about to be scheduled out, or its period was changed by IOC_PERIOD. */
void overflow_sched_in(struct event *e);
void overflow_sched_out(struct event *e);
int overflow_set_period(struct event *root, u64 value);
/* IOC_REFRESH: n more overflows, then POLL_HUP and disabled. */
int overflow_refresh(struct event *root, u64 n);

#endif
