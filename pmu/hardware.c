/*
 * The `cpu` PMU: PERF_TYPE_HARDWARE and PERF_TYPE_RAW events, from the counter bank that translated code advances.
 *
 * Units are the instrumentation variants of cpu/cpu.h: unit n is bit n of cpu->want.
 */
#include <asm-generic/errno.h>
#include "event/pmu.h"
#include "model/cycles.h"
#include "pmu/events.h"
#include "rt/refuse.h"

#define SOURCE_NOTHING 0xffffffffu /* both user and kernel mode are excluded */

static int find_row(const struct perf_attr *attr, const struct pmu_event **out)
{
	if (attr->type == PERF_TYPE_HW_CACHE)
		return refuse(ENOENT, "there is no cache model");
	if (attr->type == PERF_TYPE_HARDWARE && attr->config >= PERF_COUNT_HW_MAX)
		return refuse(EINVAL, "no such generalized hardware event");
	*out = pmu_event_find(attr->type, attr->config);
	if (!*out && attr->type == PERF_TYPE_RAW)
		return refuse(ENOENT, "not a raw event of pcl's cpu PMU: see pcl list");
	return *out ? 0 : refuse(ENOENT, "there is no model for this hardware event");
}

static int hw_event_init(const struct perf_attr *attr, struct event_source *out)
{
	const struct pmu_event *row;
	int err = find_row(attr, &row);

	if (err)
		return err;
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return refuse(EOPNOTSUPP, "branch stacks are not built");
	/* As x86's hw_config: there is no sense in precision without samples. */
	if (attr->precise_ip)
		return attr->sample_period ? refuse(EOPNOTSUPP, "sampling is not built") :
					     refuse(EINVAL, "attr.precise_ip needs a sampling event");
	if (attr->exclude_user && !attr->exclude_kernel)
		return refuse(EOPNOTSUPP, "kernel mode is invisible to pcl");
	out->source = SOURCE_NOTHING;
	out->units = 0;
	out->shift = 0;
	out->per_cpu = attr->exclude_user || attr->exclude_host;
	if (out->per_cpu)
		return 0;
	out->source = row->source;
	out->units = cpu_want_bit((enum cell)row->source);
	out->shift = row->source == CELL_CYCLES ? MODEL_CYCLE_SHIFT : 0;
	return 0;
}

static u64 hw_read(task_id task, u32 source)
{
	return source == SOURCE_NOTHING ? 0 : cpu_read_cell(host_task_bank(task), (enum cell)source);
}

static void hw_want(task_id task, u32 units)
{
	__atomic_store_n(&host_task_bank(task)->want, units, __ATOMIC_RELEASE);
	host_kick(task);
}

static const struct pmu hw_pmu = {
	.name = "cpu",
	.type = PERF_TYPE_RAW,
	.capabilities = PMU_USER_ONLY,
	.event_init = hw_event_init,
	.read = hw_read,
	.want = hw_want,
};

void hw_pmu_init(void)
{
	pmu_register(&hw_pmu);
}
