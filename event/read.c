/* See read.h. Layouts: the man page's "Reading results". */
#include "event/read.h"

#include <asm-generic/errno.h>
#include "event/attr.h"
#include "event/event.h"
#include "event/files.h"
#include "event/map.h"
#include "event/task.h"
#include "rt/log.h"
#include "rt/refuse.h"

static u64 *read_one(struct event *e, u64 format, u64 *at)
{
	struct event_total total;

	event_read_total(e, format & READ_TIMES, &total);
	*at++ = total.count;
	at = read_put_times(at, format, &total);
	return read_put_ids(at, format, e->id, e->lost);
}

/* The times are the leader's: a group is scheduled as a unit. */
static u64 *read_group(struct event *leader, u64 format, u64 *at, u32 siblings)
{
	struct event_total total;
	struct event *s;

	event_read_total(leader, format & READ_TIMES, &total);
	*at++ = siblings + 1;
	at = read_put_times(at, format, &total);
	*at++ = total.count;
	at = read_put_ids(at, format, leader->id, leader->lost);
	for_each_sibling(s, leader) {
		if (!siblings--)
			break; /* the number was another one: somebody has written into the session's tables */
		*at++ = event_read_member(s);
		at = read_put_ids(at, format, s->id, s->lost);
	}
	return at;
}

/*
 * The kernel's __perf_read_group_add(): there is no sum while a child's group is not made of what the parent's is. A
 * per-CPU event's children have no groups.
 */
static bool groups_match(const struct event *leader)
{
	const struct event *c;

	if (leader->task)
		for_each_child(c, leader)
			if (c->group_generation != leader->group_generation || c->nr_siblings != leader->nr_siblings)
				return false;
	return true;
}

static long read_locked(struct event *e, u64 *buf, u64 size)
{
	u32 siblings = __atomic_load_n(&event_leader(e)->nr_siblings, __ATOMIC_RELAXED);
	u64 format = __atomic_load_n(&e->attr.read_format, __ATOMIC_RELAXED), *end;

	check_slow(event_is_locked());
	if (event_tally(e)->state == PERF_STATE_ERROR)
		return 0;
	if (siblings > size || size < attr_read_size(format, siblings))
		return refuse(ENOSPC, "the buffer is smaller than what attr.read_format asks for");
	if (format & PERF_FORMAT_GROUP && !groups_match(event_leader(e)))
		return refuse(ECHILD, "a child's group is another one: the group has changed since it was inherited");
	end = format & PERF_FORMAT_GROUP ? read_group(event_leader(e), format, buf, siblings)
					 : read_one(e, format, buf);
	check((u64)(end - buf) * sizeof(u64) <= size);
	return (end - buf) * sizeof(u64);
}

long event_read(task_id task, u64 fd, u64 *buf, u64 size)
{
	struct event *e;
	long n;

	event_task_moved(task);
	event_lock();
	e = event_files_get_locked(task, fd);
	n = e ? read_locked(e, buf, size) : refuse(EBADF, "the event was closed meanwhile");
	event_unlock();
	return n;
}

u64 event_read_mapped(task_id task, u32 nr)
{
	struct event_total total = {0, 0, 0};
	struct event *e;

	event_task_moved(task);
	event_lock();
	e = event_map_find_locked(task, nr);
	if (e)
		event_read_total(e, false, &total);
	event_unlock();
	return total.count;
}
