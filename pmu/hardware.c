/*
 * The `cpu` PMU: PERF_TYPE_HARDWARE and PERF_TYPE_RAW events, from the counter bank that translated code advances.
 *
 * Units are the instrumentation variants of cpu/cpu.h: unit n is bit n of bank->want.
 */
#include <asm-generic/errno.h>
#include "cpu/bank.h"
#include "event/after.h"
#include "event/pmu.h"
#include "event/space.h"
#include "model/cycles.h"
#include "pmu/events.h"
#include "pmu/host.h"
#include "pmu/vendor.h"
#include "rt/log.h"
#include "rt/refuse.h"

#define CONFIG1_CALL_STACK 1u /* format "callstack": call chains are exact ones */
#define BRANCH_KINDS 0x3ff8u /* the bits of branch_sample_type that select kinds, from ANY to CALL */
#define PERF_SAMPLE_BRANCH_COUNTERS_ (1u << 19) /* Linux 6.8 */

#define SOURCE_NOTHING 0xffffffffu /* both user and kernel mode are excluded, or there is no model */

static int without_model(const char *why, u32 *cell)
{
	*cell = HW_NO_MODEL;
	return event_space->accepts_no_model ? 0 : refuse(ENOENT, why);
}

/* As the kernel's set_ext_hw_attr(): three numbers of a byte each, what is above them is not looked at. */
static int find_cache(u64 config, u32 *cell)
{
	if ((config & 0xff) >= PERF_COUNT_HW_CACHE_MAX)
		return refuse(EINVAL, "no such cache");
	if ((config >> 8 & 0xff) >= PERF_COUNT_HW_CACHE_OP_MAX)
		return refuse(EINVAL, "no such operation on a cache");
	if ((config >> 16 & 0xff) >= PERF_COUNT_HW_CACHE_RESULT_MAX)
		return refuse(EINVAL, "no such result of an operation on a cache");
	return without_model("there is no cache model (see --no-model)", cell);
}

/* The cell, HW_BUS_CYCLES or HW_NO_MODEL. */
static int find_cell(const struct perf_attr *attr, u32 *cell)
{
	const struct pmu_event *row;

	if (attr->type == PERF_TYPE_RAW)
		return vendor_find(event_space->processor, attr->config, cell);
	if (attr->type == PERF_TYPE_HW_CACHE)
		return find_cache(attr->config, cell);
	if (attr->type == PERF_TYPE_HARDWARE && attr->config >= PERF_COUNT_HW_MAX)
		return refuse(EINVAL, "no such generalized hardware event");
	row = pmu_event_find(attr->type, attr->config);
	if (!row)
		return without_model("there is no model for this hardware event (see --no-model)", cell);
	*cell = row->source;
	return 0;
}

/* What an Intel PMU with LBR call stacks and without branch counters says; in transactions nothing is ever recorded. */
static int check_branches(const struct perf_attr *attr)
{
	u64 mask = attr->branch_sample_type;

	if (!(attr->sample_type & PERF_SAMPLE_BRANCH_STACK))
		return 0;
	if (mask & PERF_SAMPLE_BRANCH_COUNTERS_)
		return refuse(EINVAL, "this PMU has no branch counters");
	if (!(mask & PERF_SAMPLE_BRANCH_USER))
		return refuse(EOPNOTSUPP, "branches in kernel mode are invisible to pcl");
	if ((mask & PERF_SAMPLE_BRANCH_CALL_STACK) &&
	    (mask & BRANCH_KINDS &
	     ~(u64)(PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_IND_JUMP | PERF_SAMPLE_BRANCH_CALL)))
		return refuse(EINVAL, "PERF_SAMPLE_BRANCH_CALL_STACK goes with no other kind of branch");
	return 0;
}

/* Which taken branches are to be noted: all, unless only some kinds are asked for. */
static u32 branch_units(u64 mask)
{
	u32 units = 0;

	if (mask & (PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_CALL))
		units |= CPU_WANT_LBR_CALL;
	if (mask & (PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_IND_CALL))
		units |= CPU_WANT_LBR_IND_CALL;
	if (mask & PERF_SAMPLE_BRANCH_IND_JUMP)
		units |= CPU_WANT_LBR_IND_JMP;
	if (mask & PERF_SAMPLE_BRANCH_ANY_RETURN)
		units |= CPU_WANT_LBR_RET;
	if (mask & PERF_SAMPLE_BRANCH_COND)
		units |= CPU_WANT_LBR_COND;
	if (mask & PERF_SAMPLE_BRANCH_CALL_STACK)
		return CPU_WANT_CALLS;
	return (mask & PERF_SAMPLE_BRANCH_ANY) || !units ? CPU_WANT_LBR : units;
}

static u32 sampling_units(const struct perf_attr *attr)
{
	u32 units = CPU_WANT_LIMITS;

	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		units |= branch_units(attr->branch_sample_type);
	if ((attr->sample_type & PERF_SAMPLE_CALLCHAIN) &&
	    ((attr->config1 & CONFIG1_CALL_STACK) || event_space->call_stacks))
		units |= CPU_WANT_CALLS;
	return units;
}

static u8 shift_of(u32 cell)
{
	return cell == HW_BUS_CYCLES ? MODEL_BUS_SHIFT : cell == CELL_CYCLES ? MODEL_CYCLE_SHIFT : 0;
}

static int hw_event_init(const struct perf_attr *attr, struct event_source *out)
{
	u32 cell;
	int err = find_cell(attr, &cell);

	if (err)
		return err;
	/* As x86's hw_config: there is no sense in precision without samples. */
	if (attr->precise_ip && !attr->sample_period)
		return refuse(EINVAL, "attr.precise_ip needs a sampling event");
	if (attr->config1 & ~(u64)CONFIG1_CALL_STACK)
		return refuse(EINVAL, "attr.config1 has a bit that is not in the PMU's format");
	err = check_branches(attr);
	if (err)
		return err;
	if (attr->exclude_user && !attr->exclude_kernel)
		return refuse(EOPNOTSUPP, "kernel mode is invisible to pcl");
	out->source = SOURCE_NOTHING;
	out->units = 0;
	out->shift = 0;
	out->never_runs = cell == HW_NO_MODEL;
	out->per_cpu = attr->exclude_user || attr->exclude_host;
	if (out->per_cpu || out->never_runs)
		return 0;
	out->shift = shift_of(cell);
	if (cell == HW_BUS_CYCLES)
		cell = CELL_CYCLES;
	check(cell < CELL_NR);
	out->source = cell;
	out->rdpmc = 1 + cell;
	out->units = cpu_want_bit((enum cell)cell);
	out->sampling_units = sampling_units(attr);
	return 0;
}

static u64 hw_read(task_id task, u32 source)
{
	struct cpu *own = host_own_cpu();

	if (source >= CELL_NR) /* SOURCE_NOTHING */
		return 0;
	return own && own->slot == task ? cpu_own_count(own, (enum cell)source)
					: cpu_show_cell(host_task_bank(task), (enum cell)source);
}

static void hw_want(task_id task, u32 units)
{
	__atomic_store_n(&host_task_bank(task)->want, units & ~EVENT_UNITS_TRACE, __ATOMIC_RELEASE);
	kick_after(task);
}

static UNNOTED void hw_limit(task_id task, const struct pmu_limit *limit, u32 n)
{
	u64 left[CELL_NR];
	u32 limited = 0;
	bool adaptive = true;

	check_slow(host_own_cpu());
	for (u32 i = 0; i < n; i++)
		if (limit[i].source < CELL_NR && limit[i].next != ~0ul) {
			limited |= 1u << limit[i].source;
			left[limit[i].source] = pmu_limit_left(&limit[i]);
			adaptive &= limit[i].adaptive;
		}
	cpu_set_limits(host_own_cpu(), limited, adaptive, left);
}

static const struct pmu hw_pmu = {
	.name = "cpu",
	.type = PERF_TYPE_RAW,
	.capabilities = PMU_USER_ONLY,
	.event_init = hw_event_init,
	.read = hw_read,
	.want = hw_want,
	.limit = hw_limit,
};

void hw_pmu_init(void)
{
	pmu_register(&hw_pmu);
}
