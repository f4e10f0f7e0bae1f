/* read(2) of an event. */
#ifndef EVENT_READ_H
#define EVENT_READ_H

#include "event/event.h"

/*
 * What read(2) of `size` bytes gives, in buf. The number of bytes; 0 in state ERROR; -ENOSPC: size is too small;
 * -EBADF: the descriptor is no event (any more). Takes event_lock().
 */
long event_read(task_id task, u64 fd, u64 *buf, u64 size);

/* Parts of the layout, for PERF_SAMPLE_READ too: each returns the place behind what it put. */
#define READ_TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
static inline u64 *read_put_times(u64 *at, u64 format, const struct event_total *total)
{
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		*at++ = total->enabled;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		*at++ = total->running;
	return at;
}

static inline u64 *read_put_ids(u64 *at, u64 format, u64 id, u64 lost)
{
	if (format & PERF_FORMAT_ID)
		*at++ = id;
	if (format & PERF_FORMAT_LOST)
		*at++ = lost;
	return at;
}

/* The count of an event that the task's address space maps, as rdpmc gives it; 0: it maps no such event (any more). */
u64 event_read_mapped(task_id task, u32 nr);

#endif
