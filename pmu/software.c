/*
 * The `software` PMU: clocks, and what the host counts for each task.
 *
 * exclude_user and exclude_kernel say in which mode a software event happens, as in Linux: clocks take no notice;
 * context switches and migrations happen in the kernel, so that :u counts none; page faults happen in either, and since
 * the host does not tell us in which, all are taken for the user's and those of the kernel cannot be counted alone.
 */
#include <asm-generic/errno.h>
#include "event/space.h"
#include "pmu/events.h"
#include "rt/refuse.h"

static int source_by_mode(const struct perf_attr *attr, u32 *source)
{
	switch (*source) {
	case SW_SWITCHES:
	case SW_MIGRATIONS:
		if (attr->exclude_kernel)
			*source = SW_NEVER;
		return 0;
	case SW_FAULTS:
	case SW_FAULTS_MIN:
	case SW_FAULTS_MAJ:
		if (attr->exclude_user && attr->exclude_kernel)
			*source = SW_NEVER;
		else if (attr->exclude_user)
			return refuse(EOPNOTSUPP, "the host does not tell faults in kernel mode from others");
		return 0;
	default:
		return 0;
	}
}

/*
 * What is 0 in every session, and no event of pmu/events.def: BPF programs write to events of the kernel only, and a
 * task changes cgroups with another in kernel mode.
 */
static bool counts_nothing(const struct perf_attr *attr)
{
	return attr->config == PERF_COUNT_SW_BPF_OUTPUT ||
	       (attr->config == PERF_COUNT_SW_CGROUP_SWITCHES && attr->exclude_kernel);
}

/* A sample of a page fault is taken when it happens (CPU_WANT_TOUCH), and what counts is what is sampled. */
static void sample_faults(const struct perf_attr *attr, struct event_source *out)
{
	event_space->faults = 1;
	if (!attr->sample_period || attr->exclude_user)
		return;
	out->units = CPU_WANT_TOUCH;
	out->source |= attr->exclude_kernel ? SW_SEEN : SW_SEEN_KERNEL;
	out->hits = 1;
	out->polled = 0;
}

static bool is_of_faults(u32 source)
{
	return source == SW_FAULTS || source == SW_FAULTS_MIN || source == SW_FAULTS_MAJ;
}

static int sw_event_init(const struct perf_attr *attr, struct event_source *out)
{
	const struct pmu_event *row = pmu_event_find(PERF_TYPE_SOFTWARE, attr->config);

	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return refuse(EOPNOTSUPP, "software events have no branch stacks");
	if (attr->config == PERF_COUNT_SW_CGROUP_SWITCHES && !attr->exclude_kernel)
		return refuse(ENOENT, "user space does not see which task a CPU goes to, nor whose cgroup");
	if (!row && !counts_nothing(attr))
		return refuse(ENOENT, attr->config < PERF_COUNT_SW_MAX ? "this software event is not built"
								       : "no such software event");
	out->source = row ? row->source : SW_NEVER;
	out->per_cpu = out->source == SW_CLOCK || out->source == SW_NEVER;
	out->clock = out->source == SW_CLOCK;
	out->polled = !out->clock && out->source != SW_NEVER;
	if ((attr->sample_type & PERF_SAMPLE_CALLCHAIN) && event_space->call_stacks)
		out->sampling_units = CPU_WANT_CALLS;
	if (is_of_faults(out->source))
		sample_faults(attr, out);
	return source_by_mode(attr, &out->source);
}

static u64 sw_read(task_id task, u32 source)
{
	switch (source) {
	case SW_CLOCK:
		return task ? host_task_clock(task) : host_clock_mono();
	case SW_FAULTS:
		return host_task_count(task, HOST_FAULTS_MIN) + host_task_count(task, HOST_FAULTS_MAJ);
	case SW_FAULTS_MIN:
		return host_task_count(task, HOST_FAULTS_MIN);
	case SW_FAULTS_MAJ:
		return host_task_count(task, HOST_FAULTS_MAJ);
	case SW_SWITCHES:
		return host_task_count(task, HOST_SWITCHES);
	case SW_MIGRATIONS:
		return host_task_count(task, HOST_MIGRATIONS);
	default:
		return 0;
	}
}

static const struct pmu sw_pmu = {
	.name = "software",
	.type = PERF_TYPE_SOFTWARE,
	.capabilities = PMU_SOFTWARE | PMU_ANY_CLOCK,
	.event_init = sw_event_init,
	.read = sw_read,
};

void sw_pmu_init(void)
{
	pmu_register(&sw_pmu);
}
