/*
 * The first page of an event's mapping, struct perf_event_mmap_page: self-monitoring without system calls. With the event lock.
 *
 * lock is a sequence count: odd while the fields that belong together (index, offset, times) change.
 */
#ifndef EVENT_USERPAGE_H
#define EVENT_USERPAGE_H

#include "event/event.h"

/* What never changes: version, capabilities, data_offset, data_size, time conversion. */
void userpage_init(struct ring *r);
/* After e was scheduled in or out, reset or its times changed: if e is the event that the page is of. */
void userpage_update(struct event *e);

#endif
