/* The register of PMU drivers; see pmu.h. */
#include "event/pmu.h"

#include <asm-generic/errno.h>
#include "rt/log.h"
#include "rt/refuse.h"

#pragma weak hw_pmu_init
#pragma weak sw_pmu_init
#pragma weak bp_pmu_init
#pragma weak tp_pmu_init
#pragma weak uprobe_pmu_init

static const struct pmu *pmus[PMU_MAX];
static u32 nr_pmus;

int pmu_register(const struct pmu *pmu)
{
	check(pmu->name && pmu->event_init);
	if (nr_pmus == PMU_MAX)
		return -ENOSPC;
	pmus[nr_pmus] = pmu;
	return nr_pmus++;
}

static int no_event(const struct perf_attr *attr, struct event_source *out)
{
	return -ENOENT;
}

u64 pmu_no_count(task_id task, u32 source)
{
	return 0;
}

/* Whoever wrote the number into an event has lost its counts; the process that meets it has not done anything wrong. */
static const struct pmu none = {.name = "", .type = ~0u, .event_init = no_event, .read = pmu_no_count};

const struct pmu *pmu_by_number(u32 nr)
{
	return nr < nr_pmus ? pmus[nr] : &none;
}

const struct pmu *pmu_or_null(u32 nr)
{
	return nr < nr_pmus ? pmus[nr] : NULL;
}

static const struct pmu *by_type(u32 type)
{
	for (u32 i = 0; i < nr_pmus; i++)
		if (pmus[i]->type == type)
			return pmus[i];
	return NULL;
}

static u32 driver_type(u32 type)
{
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE ? PERF_TYPE_RAW : type;
}

bool pmu_type_user_only(u32 type)
{
	const struct pmu *pmu = by_type(driver_type(type));

	return pmu && (pmu->capabilities & PMU_USER_ONLY);
}

static int refuse_type(u32 type)
{
	switch (type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return refuse(ENOENT, "no hardware PMU counts this event");
	case PERF_TYPE_TRACEPOINT:
		return refuse(ENOENT, "no PMU counts tracepoints");
	case PERF_TYPE_BREAKPOINT:
		return refuse(ENOENT, "no PMU counts breakpoints");
	default:
		return refuse(ENOENT, "no PMU has this type number");
	}
}

int pmu_find(const struct perf_attr *attr, u32 *nr, struct event_source *out)
{
	u32 type = driver_type(attr->type);
	int err;

	if (type != attr->type && attr->config >> PERF_PMU_TYPE_SHIFT)
		return refuse(ENOENT, "config names a PMU (hybrid CPUs only)");
	for (u32 i = 0; i < nr_pmus; i++) {
		if (pmus[i]->type != type)
			continue;
		*nr = i;
		*out = (struct event_source){0};
		err = pmus[i]->event_init(attr, out);
		/* Linux quirk: whether or not attr.sample_type asks for registers. */
		if (!err && (attr->sample_regs_user | attr->sample_regs_intr) >> 32)
			err = refuse(EOPNOTSUPP, "this PMU cannot sample vector registers");
		return err;
	}
	return refuse_type(attr->type);
}

void pmu_init(void)
{
	if (nr_pmus)
		return;
	if (sw_pmu_init)
		sw_pmu_init();
	if (hw_pmu_init)
		hw_pmu_init();
	if (bp_pmu_init)
		bp_pmu_init();
	if (tp_pmu_init)
		tp_pmu_init();
	if (uprobe_pmu_init)
		uprobe_pmu_init();
}
