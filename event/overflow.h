/*
 * Overflow: periods and frequencies, limits, throttling.
 *
 * An ACTIVE sampling event overflows when its source reaches event.next. event_arm() tells the drivers how far away the
 * nearest overflow of each source is; the translator (or a timer) stops the task there; os/ looks at the guest and
 * calls event_overflow(). Events whose source is only looked at now and then (source.polled) overflow in event_poll().
 *
 * All functions are called by the task itself, outside translated code, and take ctx_lock(), or event_lock() where an
 * overflow concerns others: an event_limit (IOC_REFRESH) that a family shares, a sample that tells what a per-CPU event
 * has counted.
 */
#ifndef EVENT_OVERFLOW_H
#define EVENT_OVERFLOW_H

#include "event/sample.h"

/* Tells the drivers the present limits. Call it before the task runs on when event_ctx.rearm is set. */
void event_arm(task_id task);

/* What the caller has to do after an overflow. */
struct overflow_result {
	bool sigtrap;	/* raise SIGTRAP with code TRAP_PERF at snapshot->ip's successor */
	u64 sig_data, sig_addr;
	u32 sig_type;
};

/*
 * Every event of the task whose limit is reached: writes its samples, counts its overflow, moves its limit on; then as
 * event_arm().
 */
void event_overflow(task_id task, const struct snapshot *snap, struct overflow_result *out);

/*
 * A sample took ns, with the way to it. That counts if it was a frequency's: these may take so much of the time (see
 * period.h).
 */
#define SAMPLE_NS_MAX 1000000 /* if it was longer the task was preempted */
static inline void event_sample_took(task_id task, u64 ns)
{
	struct event_ctx *ctx = event_ctx(task);

	if (ctx->freq_sampled)
		ctx->spent += MIN(ns, (u64)SAMPLE_NS_MAX);
	ctx->freq_sampled = 0;
}

struct event_hit {
	u32 event; /* has source.hits */
	u64 id;
	u64 addr, page_size; /* what its snapshot has as addr and data_page_size */
};

#define EVENT_HITS 16u /* at once */
/*
 * Events that have happened once more, by one instruction: counts them in the order of order.h, and those overflow
 * whose time it is. The snapshot gets the address of each. For breakpoints.
 */
void event_hit(task_id task, const struct event_hit *hit, u32 n, struct snapshot *snap, struct overflow_result *out);

/*
 * The same for all of the task's events of that source, or of either, whose filters the snapshot's record
 * (snapshot->raw) passes. For tracepoints, probes and page faults.
 */
void event_trace_either(task_id task, u32 source, u32 other, const struct snapshot *snap, struct overflow_result *out);
static inline void event_trace(task_id task, u32 source, const struct snapshot *snap, struct overflow_result *out)
{
	event_trace_either(task, source, source, snap, out);
}

/* Looks at the polled sources. Cheap if no such event samples. */
void event_poll(task_id task, const struct snapshot *snap, struct overflow_result *out);

/*
 * On entering the runtime: a tick may be due (and a rotation, where there is no timer). Overflows bring ticks too, but
 * a task that has become slow would wait for the next one for long.
 */
void event_tick_slow(task_id task);
static inline void event_tick(task_id task)
{
	if (unlikely(event_ctx(task)->tick_stamp | event_ctx(task)->look))
		event_tick_slow(task);
}

/* For the core, with the lock of e's context: e is about to be scheduled in or out while its source stands at now. */
void overflow_sched_in(struct event *e, u64 now);
void overflow_sched_out(struct event *e, u64 now);

READS bool overflow_active(const struct event *e)
{
	return e->attr.sample_period && e->tally.state == PERF_STATE_ACTIVE;
}

/* What ctx.sampling, polling and needs must be, by its events. */
struct overflow_wants {
	u32 sampling, polling, needs;
};
void overflow_wants(task_id task, struct overflow_wants *out);
/* Puts that down; and the limits are to be given again. After every change, and in the repair. */
void overflow_sync(task_id task);

/* IOC_PERIOD: 0 or -EINVAL. */
int overflow_set_period(struct event *root, u64 value);
/* IOC_REFRESH: n more overflows, then POLL_HUP and disabled. 0 or -EINVAL. */
int overflow_refresh(struct event *root, s32 n);

#endif
