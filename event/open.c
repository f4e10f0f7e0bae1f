/* See open.h. The order of the checks is that of Linux 6.18; tests/abi/errno sees it on the host's kernel. */
#include "event/open.h"

#include <asm-generic/errno.h>
#include <linux/time.h>
#include "event/attr.h"
#include "event/counters.h"
#include "event/event.h"
#include "event/files.h"
#include "event/inherit.h"
#include "event/lineage.h"
#include "event/period.h"
#include "event/ring.h"
#include "rt/log.h"
#include "rt/refuse.h"

#define READ_SIZE_MAX 16384

/* Bits of attr.aux_action. */
#define AUX_START_PAUSED 1u
#define AUX_PAUSE 2u
#define AUX_RESUME 4u

/* What the checks have found. */
struct opening {
	const struct event_request *r;
	task_id task;		/* 0: a per-CPU event */
	u32 generation;
	struct event *leader;	/* NULL: the new event leads */
	struct event *output;	/* PERF_FLAG_FD_OUTPUT */
	u32 pmu;
	struct event_source source;
	struct event_cgroup cgroup;
};

static void find_cgroup(struct event_request *r)
{
	struct cgroup_path path;

	r->cgroup_err = host_cgroup(r->pid, &path);
	if (!r->cgroup_err)
		r->cgroup = (struct event_cgroup){path.at[path.levels], path.levels};
}

int event_open_begin(gva uattr, s32 pid, s32 cpu, s32 group_fd, u64 flags, struct event_request *r)
{
	int err;

	*r = (struct event_request){.pid = pid, .cpu = cpu, .group_fd = group_fd, .flags = flags};
	r->caller = host_current();
	if (flags & ~(u64)PERF_FLAG_KNOWN)
		return refuse(EINVAL, "unknown bit in flags");
	err = attr_copy(uattr, &r->attr);
	if (!err)
		err = attr_check_access(&r->attr);
	if (err)
		return err;
	if ((flags & PERF_FLAG_PID_CGROUP) && (pid == -1 || cpu == -1))
		return refuse(EINVAL, "PERF_FLAG_PID_CGROUP needs a cgroup descriptor and a CPU");
	if (flags & PERF_FLAG_PID_CGROUP)
		find_cgroup(r);
	return 0;
}

int event_open_begin_2009(const struct perf_attr *attr, u32 of_2009, s32 pid, s32 cpu, s32 group_fd,
			  struct event_request *r)
{
	int err;

	*r = (struct event_request){.attr = *attr, .of_2009 = of_2009, .pid = pid, .cpu = cpu, .group_fd = group_fd};
	r->caller = host_current();
	err = attr_check(&r->attr);
	return err ? err : attr_check_access(&r->attr);
}

static int find_leader(struct opening *o)
{
	const struct event_request *r = o->r;
	struct event *e;

	if (r->group_fd == -1)
		return 0;
	e = event_files_get_locked(r->caller, (u32)r->group_fd);
	if (!e)
		return refuse(EBADF, "group_fd is not an event");
	/* Linux quirk: also with PERF_FLAG_FD_NO_GROUP. */
	if (event_tally(e)->state == PERF_STATE_EXIT)
		return refuse(ENODEV, "the task of the group_fd event has exited");
	o->output = r->flags & PERF_FLAG_FD_OUTPUT ? e : NULL;
	o->leader = r->flags & PERF_FLAG_FD_NO_GROUP ? NULL : e;
	return 0;
}

static int find_task(struct opening *o, task_id found)
{
	const struct event_request *r = o->r;

	if (r->pid == -1 || (r->flags & PERF_FLAG_PID_CGROUP))
		return 0;
	if (!found)
		return refuse(ESRCH, "no task of the session has this pid");
	o->task = found;
	o->generation = event_ctx(found)->generation;
	if (o->leader && o->leader->attr.inherit != r->attr.inherit)
		return refuse(EINVAL, "attr.inherit differs from the leader's");
	return 0;
}

/* The kernel's perf_trace_event_perm(): what tasks of others do is not for everybody. */
static int check_raw(const struct opening *o)
{
	const struct perf_attr *attr = &o->r->attr;

	if (attr->type != PERF_TYPE_TRACEPOINT || o->task || !(attr->sample_type & PERF_SAMPLE_RAW))
		return 0;
	if (event_sysctl()->paranoid > -1 && !host_perfmon_capable())
		return refuse(EPERM, "records of all tasks' tracepoints need perf_event_paranoid -1 or CAP_PERFMON");
	return 0;
}

/* The kernel's perf_cgroup_connect(). A member without the flag belongs to its leader's cgroup, too. */
static int check_cgroup(struct opening *o)
{
	const struct event_request *r = o->r;
	const struct event_cgroup *of = o->leader ? &o->leader->cgroup : NULL;

	if (r->flags & PERF_FLAG_PID_CGROUP) {
		o->cgroup = r->cgroup;
		if (r->cgroup_err == -ENOENT)
			return refuse(ENOENT, "the cgroup is gone, or not of the perf_event controller's hierarchy");
		if (r->cgroup_err == -ENOMEM)
			return refuse(ENOMEM, "no memory to look for the cgroup");
		if (r->cgroup_err)
			return refuse(EBADF, "the descriptor is not a directory of a cgroup file system");
		if (of && (of->at != r->cgroup.at || of->level != r->cgroup.level))
			return refuse(EINVAL, "the leader counts another cgroup, or none");
	} else if (of && !o->task) {
		o->cgroup = *of;
	}
	if (o->cgroup.at)
		o->source.per_cpu = 0; /* its count is that of some tasks */
	return 0;
}

/* The kernel's perf_event_alloc(). */
static int find_source(struct opening *o)
{
	const struct perf_attr *attr = &o->r->attr;
	s32 cpu = o->r->cpu;
	int err;

	if ((u32)cpu >= host_nr_cpus() && (!o->task || cpu != -1))
		return refuse(EINVAL, "no such CPU");
	if (attr->sigtrap && !o->task)
		return refuse(EINVAL, "attr.sigtrap needs a task");
	if (attr->inherit && (attr->sample_type & PERF_SAMPLE_READ) && !(attr->sample_type & PERF_SAMPLE_TID))
		return refuse(EINVAL, "PERF_SAMPLE_READ of an inherited event needs PERF_SAMPLE_TID");
	err = pmu_find(attr, &o->pmu, &o->source);
	err = err ? err : counters_check_group(o->leader, o->pmu);
	err = err ? err : check_raw(o);
	if (err)
		return err;
	if (attr->aux_output)
		return refuse(EOPNOTSUPP, "there is no AUX PMU");
	if ((attr->aux_action & AUX_PAUSE) && (attr->aux_action & AUX_RESUME))
		return refuse(EINVAL, "an event cannot both pause and resume AUX output");
	if (attr->aux_action & AUX_START_PAUSED)
		return refuse(EOPNOTSUPP, "there is no AUX PMU");
	err = check_cgroup(o);
	if (err)
		return err;
	if ((attr->sample_type & PERF_SAMPLE_CALLCHAIN) && attr->sample_max_stack > event_sysctl()->max_stack)
		return refuse(EOVERFLOW, "attr.sample_max_stack is above perf_event_max_stack");
	return 0;
}

static int check_clock(const struct opening *o)
{
	const struct perf_attr *attr = &o->r->attr;

	if (!attr->use_clockid)
		return 0;
	switch (attr->clockid) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
		return 0;
	case CLOCK_REALTIME:
	case CLOCK_BOOTTIME:
	case CLOCK_TAI:
		if (pmu_by_number(o->pmu)->capabilities & PMU_ANY_CLOCK)
			return 0;
		return refuse(EINVAL, "this attr.clockid cannot be read in an overflow of this PMU");
	default:
		return refuse(EINVAL, "unknown attr.clockid");
	}
}

static int check_target(const struct opening *o, bool may_observe)
{
	if (o->task) {
		if (!may_observe)
			return refuse(EACCES, "the caller may not observe this task");
		if (!event_ctx(o->task)->live)
			return refuse(ESRCH, "the task is exiting");
		return 0;
	}
	if (attr_allow_cpu())
		return -EACCES;
	if (!host_cpu_online(o->r->cpu))
		return refuse(ENODEV, "the CPU is offline");
	return 0;
}

static bool same_context(const struct opening *o, const struct event *e)
{
	return e->task == o->task && (!o->task || e->generation == o->generation);
}

static int check_group(const struct opening *o)
{
	const struct perf_attr *attr = &o->r->attr;
	const struct event *leader = o->leader;
	bool software = pmu_by_number(o->pmu)->capabilities & PMU_SOFTWARE;

	if (!leader)
		return 0;
	if (!event_is_leader(leader))
		return refuse(EINVAL, "group_fd is itself a member of a group");
	if (attr_clock(&leader->attr) != attr_clock(attr))
		return refuse(EINVAL, "attr.clockid differs from the leader's");
	if (leader->cpu != o->r->cpu)
		return refuse(EINVAL, "the leader is on another CPU");
	if (!same_context(o, leader))
		return refuse(EINVAL, "the leader counts another task");
	if (attr->exclusive || attr->pinned)
		return refuse(EINVAL, "only a leader can be exclusive or pinned");
	if (!software && !(pmu_by_number(leader->pmu)->capabilities & PMU_SOFTWARE) && leader->pmu != o->pmu)
		return refuse(EINVAL, "the leader is of another hardware PMU");
	return 0;
}

static int check_output(const struct opening *o)
{
	const struct event_request *r = o->r;
	const struct event new = {.task = o->task, .generation = o->generation, .cpu = r->cpu, .attr = r->attr,
				  .of_2009 = r->of_2009};

	return o->output ? ring_check_redirect(&new, o->output) : 0;
}

/* What is as long as the group: a read, or of events of 2009 a record with pairs of words. */
static bool fits_group(const struct perf_attr *attr, u32 of_2009, u32 siblings)
{
	u64 format = of_2009 ? PERF_FORMAT_GROUP | PERF_FORMAT_ID : attr->read_format;

	return attr_read_size(format, siblings) <= READ_SIZE_MAX;
}

static int check_size(const struct opening *o)
{
	u32 siblings = o->leader ? o->leader->nr_siblings : 0;
	bool fits = fits_group(&o->r->attr, o->r->of_2009, siblings + 1);
	struct event *s;

	if (o->leader) {
		fits &= fits_group(&o->leader->attr, o->leader->of_2009, siblings + 1);
		for_each_sibling(s, o->leader)
			fits &= fits_group(&s->attr, s->of_2009, siblings + 1);
	}
	return fits ? 0 : refuse(E2BIG, "a read of the whole group would be above 16384 bytes");
}

/* What acts on, or samples, the AUX area of its leader. */
static int check_aux(const struct opening *o)
{
	const struct perf_attr *attr = &o->r->attr;

	if (attr->aux_sample_size || (attr->aux_action & (AUX_PAUSE | AUX_RESUME)))
		return refuse(EINVAL, "the leader is not an AUX event");
	return 0;
}

static struct event *fill(const struct opening *o, u64 inode)
{
	const struct event_request *r = o->r;
	struct event *e = event_alloc();

	check_slow(event_is_locked());
	if (!e)
		return NULL;
	e->task = o->task;
	e->generation = o->generation;
	e->owner = r->caller;
	e->owner_generation = event_ctx(r->caller)->generation;
	if (o->leader) {
		e->leader = event_nr(o->leader);
		e->leader_id = o->leader->id;
	}
	e->cpu = r->cpu;
	e->pmu = o->pmu;
	e->source = o->source;
	e->cgroup = o->cgroup;
	e->inode = inode;
	e->attr = r->attr;
	e->of_2009 = r->of_2009;
	if (!(e->attr.sample_type & PERF_SAMPLE_BRANCH_STACK))
		/* Linux quirk: an attr with another value is not the same (tests/abi/breakpoint_modify.c) */
		e->attr.branch_sample_type = 0;
	period_init(e, NULL);
	e->tally.state = r->attr.disabled ? PERF_STATE_OFF : PERF_STATE_INACTIVE;
	e->tally.stamp = event_clock(e);
	return e;
}

/* On tasks that are, or were, on its CPU. */
static int install_children(struct event *e)
{
	int err = 0;

	for (u32 task = 1; !err && task < MIN(event_space->ctx_high, EVENT_TASKS); task++) {
		if (!event_ctx(task)->live)
			continue;
		if (lineage_has_seen(task, e->cpu))
			err = inherit_system_event(e, task);
		else if (event_ctx(task)->cpu == e->cpu)
			lineage_see(task, e->cpu);
	}
	return err;
}

static void see_cpus(void)
{
	for (u32 task = 1; task < MIN(event_space->ctx_high, EVENT_TASKS); task++)
		if (event_ctx(task)->live)
			event_see_cpu(task);
}

static int install(struct opening *o, u64 fd, u64 inode)
{
	struct event *e;
	int err = 0;

	if (fd >= EVENT_FDS)
		return refuse(EMFILE, "the descriptor number is too high for an event");
	e = fill(o, inode);
	if (!e)
		return refuse(ENOMEM, "all event slots of the session are taken");
	if (!o->task)
		see_cpus();
	else if (e->cpu >= 0)
		event_see_cpu(o->task);
	if (e->attr.exclusive)
		__atomic_store_n(&event_space->counters_scarce, 1, __ATOMIC_RELAXED);
	lineage_settle(event_leader(e)); /* children that are there already keep the group that they have */
	event_attach(e);
	if (event_files_install_locked(o->r->caller, fd, e)) {
		event_release(e);
		return refuse(ENOMEM, "more descriptors of events than the session's tables have room for");
	}
	if (o->output)
		ring_attach(e, ring_of(o->output));
	event_sched_group(event_leader(e), e->tally.stamp);
	if (!e->task)
		err = install_children(e);
	if (err) {
		event_files_uninstall_locked(o->r->caller, fd);
		return refuse(ENOMEM, "all event slots of the session are taken");
	}
	return 0;
}

int event_open_commit(const struct event_request *r, u64 fd, u64 inode)
{
	task_id found = r->pid == 0 ? r->caller : r->pid > 0 ? host_find_task(r->pid) : 0;
	bool may_observe = host_perfmon_capable() || (found && host_may_observe(found));
	struct opening o = {.r = r};
	int err;

	__atomic_store_n(&event_space->opened, 1, __ATOMIC_RELAXED);
	event_lock();
	err = find_leader(&o);
	err = err ? err : find_task(&o, found);
	err = err ? err : find_source(&o);
	err = err ? err : check_clock(&o);
	err = err ? err : check_target(&o, may_observe);
	err = err ? err : check_group(&o);
	err = err ? err : check_output(&o);
	err = err ? err : check_size(&o);
	err = err ? err : check_aux(&o);
	err = err ? err : install(&o, fd, inode);
	event_unlock();
	return err;
}
