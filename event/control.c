/* See control.h. */
#include "event/control.h"

#include <asm-generic/errno.h>
#include "event/attr.h"
#include "event/event.h"
#include "event/files.h"
#include "event/lineage.h"
#include "event/overflow.h"
#include "event/ring.h"
#include "event/modify.h"
#include "event/task.h"
#include "rt/refuse.h"

#define BPF_PROGS_MAX 64 /* the kernel's BPF_TRACE_MAX_PROGS */

static void for_group(struct event *e, bool group, void (*verb)(struct event *e))
{
	struct event *leader = event_leader(e), *s;

	if (!group) {
		verb(e);
		return;
	}
	verb(leader);
	for_each_sibling(s, leader)
		verb(s);
}

static int do_verb(task_id task, u64 fd, u64 arg, void (*verb)(struct event *e))
{
	struct event *e;

	event_task_moved(task);
	event_lock();
	e = event_files_get_locked(task, fd);
	if (e)
		for_group(e, arg & PERF_IOC_FLAG_GROUP, verb);
	event_unlock();
	return e ? 0 : refuse(EBADF, "the event was closed meanwhile");
}

/* A copy of what the checks below look at; -EBADF if there is no such event. */
static int peek(task_id task, u64 fd, u64 *id, struct perf_attr *attr)
{
	struct event *e;

	event_lock();
	e = event_files_get_locked(task, fd);
	if (e) {
		*id = e->id;
		*attr = e->attr;
	}
	event_unlock();
	return e ? 0 : refuse(EBADF, "the event was closed meanwhile");
}

/* Linux quirk: only a long -1 is none; an int that was not sign-extended is a bad descriptor. */
static int set_output_locked(struct event *e, task_id task, u64 to_fd)
{
	struct event *to = NULL;

	if (to_fd != ~0ul) {
		to = event_files_get_locked(task, (u32)to_fd);
		if (!to)
			return refuse(EBADF, "the output descriptor is not an event");
	}
	return ring_redirect(e, to);
}

static int set_output(task_id task, u64 fd, u64 to_fd)
{
	struct event *e;
	int err;

	event_lock();
	e = event_files_get_locked(task, fd);
	err = e ? set_output_locked(e, task, to_fd) : refuse(EBADF, "the event was closed meanwhile");
	event_unlock();
	return err;
}

static int pause_output(task_id task, u64 fd, bool pause)
{
	struct event *e;
	int err;

	event_lock();
	e = event_files_get_locked(task, fd);
	err = e ? ring_pause(e, pause) : refuse(EBADF, "the event was closed meanwhile");
	event_unlock();
	return err;
}

/* Of an event that may have a filter and has none yet: how its fields are found. */
static int filter_source(task_id task, u64 fd, filter_fields **fields, u32 *source)
{
	struct event *e;
	int err = 0;

	event_lock();
	e = event_files_get_locked(task, fd);
	if (e) {
		*fields = pmu_by_number(e->pmu)->field;
		*source = e->source.source;
	}
	if (!e)
		err = refuse(EBADF, "the event was closed meanwhile");
	else if (!*fields)
		err = refuse(EINVAL, "only tracepoints, uprobes and AUX events take filters");
	else if (e->filter.n)
		err = refuse(EEXIST, "the event has a filter, and keeps it");
	event_unlock();
	return err;
}

static int attach_filter(task_id task, u64 fd, const struct filter_node *filter, u32 n)
{
	struct event *e;
	int err;

	event_lock();
	e = event_files_get_locked(task, fd);
	if (!e)
		err = refuse(EBADF, "the event was closed meanwhile");
	else if (e->filter.n)
		err = refuse(EEXIST, "the event has a filter, and keeps it");
	else
		err = filter_attach(e, filter, n);
	event_unlock();
	return err;
}

static int set_filter(task_id task, u64 fd, u64 arg)
{
	struct filter_node filter[FILTER_NODES];
	filter_fields *fields;
	char text[FILTER_TEXT];
	u32 source;
	long len = host_copy_string(text, arg, sizeof(text));
	int n;

	if (len == -EFAULT)
		return refuse(EFAULT, "the filter cannot be read");
	if (len < 0)
		return refuse(EINVAL, "the filter is longer than a page");
	n = filter_source(task, fd, &fields, &source);
	if (!n)
		n = filter_compile(text, fields, source, filter);
	return n < 0 ? n : attach_filter(task, fd, filter, (u32)n);
}

static int set_period(task_id task, u64 fd, u64 arg)
{
	struct event *e;
	u64 period;
	int err;

	if (host_copy_in(&period, arg, sizeof(period)))
		return refuse(EFAULT, "the period cannot be read");
	event_lock();
	e = event_files_get_locked(task, fd);
	err = e ? overflow_set_period(e, period) : refuse(EBADF, "the event was closed meanwhile");
	event_unlock();
	return err;
}

static int refresh(task_id task, u64 fd, u64 arg)
{
	struct event *e;
	int err;

	event_task_moved(task);
	event_lock();
	e = event_files_get_locked(task, fd);
	err = e ? overflow_refresh(e, (s32)arg) : refuse(EBADF, "the event was closed meanwhile");
	event_unlock();
	return err;
}

static int set_bpf(s32 fd)
{
	if (!host_fd_open(fd))
		return refuse(EBADF, "the BPF descriptor is not open");
	return refuse(EINVAL, "BPF programs cannot be attached to events");
}

/* There are none: the kernel's perf_event_query_prog_array(). */
static int query_bpf(const struct perf_attr *attr, u64 arg)
{
	struct perf_event_query_bpf query;

	if (!host_perfmon_capable())
		return refuse(EPERM, "QUERY_BPF needs CAP_PERFMON");
	if (attr->type != PERF_TYPE_TRACEPOINT)
		return refuse(EINVAL, "only tracepoints have BPF programs");
	if (host_copy_in(&query, arg, sizeof(query)))
		return refuse(EFAULT, "the query cannot be read");
	if (query.ids_len > BPF_PROGS_MAX)
		return refuse(E2BIG, "room for more programs than there can be");
	query.prog_cnt = 0;
	return host_copy_out(arg, &query, sizeof(query)) ? refuse(EFAULT, "the answer cannot be written") : 0;
}

int event_ioctl(task_id task, u64 fd, u32 cmd, u64 arg)
{
	struct perf_attr attr;
	u64 id;
	int err;

	switch (cmd) {
	case PERF_EVENT_IOC_ENABLE:
		return do_verb(task, fd, arg, event_enable_family);
	case PERF_EVENT_IOC_DISABLE:
		return do_verb(task, fd, arg, event_disable_family);
	case PERF_EVENT_IOC_RESET:
		return do_verb(task, fd, arg, event_reset_family);
	}
	err = peek(task, fd, &id, &attr);
	if (err)
		return err;
	switch (cmd) {
	case PERF_EVENT_IOC_ID:
		return host_copy_out(arg, &id, sizeof(id)) ? refuse(EFAULT, "the id cannot be written") : 0;
	case PERF_EVENT_IOC_REFRESH:
		return refresh(task, fd, arg);
	case PERF_EVENT_IOC_PERIOD:
		return set_period(task, fd, arg);
	case PERF_EVENT_IOC_SET_OUTPUT:
		return set_output(task, fd, arg);
	case PERF_EVENT_IOC_SET_FILTER:
		return set_filter(task, fd, arg);
	case PERF_EVENT_IOC_SET_BPF:
		return set_bpf((s32)arg);
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		return pause_output(task, fd, arg != 0);
	case PERF_EVENT_IOC_QUERY_BPF:
		return query_bpf(&attr, arg);
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:
		return event_modify(task, fd, arg);
	default:
		return refuse(ENOTTY, "not an ioctl of events");
	}
}

/* Counts nothing, and tells of tasks and maps: regions leave it on, as perf stat and record do with --delay. */
static bool is_dummy(const struct event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config == PERF_COUNT_SW_DUMMY;
}

/* owned: those that the task has opened; else those of all others that count. */
static void switch_all(task_id task, bool owned, bool enable)
{
	u32 generation = event_ctx(task)->generation;
	struct event *e;

	if (!event_space->opened)
		return;
	event_lock();
	for_each_opened(e) {
		if ((e->owner == task && e->owner_generation == generation) != owned || (owned && e->of_2009))
			continue;
		if (!owned && is_dummy(e))
			continue;
		if (enable)
			event_enable_family(e);
		else
			event_disable_family(e);
	}
	event_unlock();
}

void event_switch_owned(task_id task, bool enable)
{
	switch_all(task, true, enable);
}

static void switch_attached(struct event *e, bool enable)
{
	if (!e->parent)
		lineage_settle(e);
	if (enable)
		event_enable(e);
	else
		event_disable(e);
}

void event_switch_attached_2009(task_id task, bool enable)
{
	struct event *e;

	if (!event_space->opened)
		return;
	event_lock();
	for_each_in_ctx(e, event_ctx(task))
		if (e->of_2009 && event_is_leader(e) && !event_follows_cpu(e))
			switch_attached(e, enable);
	event_unlock();
}

bool event_is_of_2009(task_id task, u64 fd)
{
	struct event *e;
	bool is;

	event_lock();
	e = event_files_get_locked(task, fd);
	is = e && e->of_2009;
	event_unlock();
	return is;
}

void event_switch_region(task_id task, bool begins)
{
	switch_all(task, false, begins);
}
