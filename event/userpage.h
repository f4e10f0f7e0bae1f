/*
 * The first page of an event's mapping, struct perf_event_mmap_page: self-monitoring without system calls. With the
 * lock of the event's context.
 *
 * lock is a sequence count: odd while the fields that belong together (index, offset, times) change. The reader's
 * loop is the man page's. While the event counts on a task of the address space that mapped it, its count is offset
 * plus what rdpmc of index - 1 gives: a cell of the task's counter bank. For an event of all tasks on a
 * CPU that is so on any task. Some cells count in fractions of the event's unit; so that both sum up to what read(2)
 * gives, the counter's number also says how the cell is to be rounded (struct rdpmc_counter).
 *
 * cap_user_time: the times go on as the TSC does since the last change. Linux updates them at every context switch, so
 * there the time asleep does not count; here it does, until the event is scheduled again.
 */
#ifndef EVENT_USERPAGE_H
#define EVENT_USERPAGE_H

#include "event/event.h"

/* What never changes: version, capabilities, data_offset, data_size. */
void userpage_init(struct ring *r);
/* After e was scheduled in or out, reset or its times changed: if e is the event that the page is of. */
void userpage_update(struct event *e);
/* The same, when its clock (event_clock()) was just read: that is a system call. */
void userpage_update_at(struct event *e, u64 now);

/*
 * What rdpmc's ecx means: value = (cell + fraction) >> shift. With RDPMC_EVENT it is the number of an event of all
 * tasks on a CPU, whose count is in no one cell: the value is the whole count, as read(2) gives it, and the page's
 * offset is 0.
 */
#define RDPMC_EVENT 0x80000000u
struct rdpmc_counter {
	u32 cell, shift, fraction;
};
#define RDPMC_SHIFT_BIT 8
#define RDPMC_FRACTION_BIT 16

static inline struct rdpmc_counter rdpmc_decode(u32 ecx)
{
	return (struct rdpmc_counter){ecx & 0xff, ecx >> RDPMC_SHIFT_BIT & 0xff, ecx >> RDPMC_FRACTION_BIT};
}

#endif
