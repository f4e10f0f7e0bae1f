/* See uprobe.h. Translated code stops at the places (CPU_WANT_BREAK), perf/uprobe_hits.c tells event_trace(). */
#include "pmu/uprobe.h"

#include <asm-generic/errno.h>
#include "cpu/cpu.h"
#include "event/probe.h"
#include "event/space.h"
#include "pmu/tracepoint.h"
#include "rt/refuse.h"

#define IS_RETURN     1u
#define REF_CTR_SHIFT 32

bool uprobe_allowed(void)
{
	return event_sysctl()->paranoid < 0 || host_perfmon_capable();
}

static int refuse_file(s32 err)
{
	switch (-err) {
	case EFAULT:
		return refuse(EFAULT, "attr.uprobe_path cannot be read");
	case E2BIG:
		return refuse(E2BIG, "attr.uprobe_path is longer than a path can be");
	case EINVAL:
		return refuse(EINVAL, "attr.uprobe_path is no regular file, or attr.probe_offset is beyond its end");
	default:
		return refuse(-err, "the file at attr.uprobe_path");
	}
}

/* The kernel's perf_uprobe_event_init(). */
static int uprobe_event_init(const struct perf_attr *attr, struct event_source *out)
{
	struct probe_place place = {
		.dev = attr->config3,
		.ino = attr->config1,
		.offset = attr->config2,
		.ref_ctr = attr->config >> REF_CTR_SHIFT,
		.is_return = attr->config & IS_RETURN,
	};
	int row;

	if (!uprobe_allowed())
		return refuse(EACCES, "uprobes need CAP_PERFMON, or perf_event_paranoid -1");
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return refuse(EOPNOTSUPP, "uprobes have no branch stacks");
	if (!place.ino)
		return refuse_file((s32)attr->config3);
	if (place.ref_ctr % sizeof(u16))
		return refuse(EINVAL, "ref_ctr_offset is odd");
	row = probe_find_place(&place);
	if (row < 0)
		return row;
	out->source = PROBE_ID + (u32)row;
	out->hits = 1;
	out->units = CPU_WANT_BREAK;
	if ((attr->sample_type & PERF_SAMPLE_CALLCHAIN) && event_space->call_stacks)
		out->sampling_units = CPU_WANT_CALLS;
	return 0;
}

static const struct pmu uprobe_pmu = {
	.name = "uprobe",
	.type = PMU_TYPE_UPROBE,
	.capabilities = PMU_SOFTWARE,
	.event_init = uprobe_event_init,
	.read = pmu_no_count,
	.field = tracepoint_common, /* Linux quirk: the address has a name only where the probe has one */
};

void uprobe_pmu_init(void)
{
	pmu_register(&uprobe_pmu);
}
