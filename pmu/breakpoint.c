/*
 * The `breakpoint` PMU: PERF_TYPE_BREAKPOINT. Translated code stops at the addresses (units CPU_WANT_BREAK and
 * CPU_WANT_WATCH), perf/breakpoints.c decides whether a breakpoint was hit and tells event_hit().
 *
 * Checks and errors are those of x86 Linux (kernel/events/hw_breakpoint.c and arch/x86), except that there is no limit
 * of four, so never ENOSPC. Accesses by the kernel are not seen.
 */
#include <asm-generic/errno.h>
#include <linux/hw_breakpoint.h>
#include "cpu/cpu.h"
#include "event/pmu.h"
#include "rt/refuse.h"

#define TASK_SIZE_MAX 0x7ffffffff000ul

static int check_kernel_address(const struct perf_attr *attr)
{
	if (attr->bp_type == HW_BREAKPOINT_X)
		return refuse(EINVAL, "an execution breakpoint in kernel memory");
	if (attr->exclude_kernel)
		return refuse(EINVAL, "a breakpoint in kernel memory with exclude_kernel");
	if (!host_perfmon_capable())
		return refuse(EPERM, "breakpoints in kernel memory need CAP_SYS_ADMIN");
	return refuse(EOPNOTSUPP, "kernel mode is invisible to pcl");
}

static int check_data_length(const struct perf_attr *attr)
{
	switch (attr->bp_len) {
	case HW_BREAKPOINT_LEN_1:
	case HW_BREAKPOINT_LEN_2:
	case HW_BREAKPOINT_LEN_4:
	case HW_BREAKPOINT_LEN_8:
		break;
	default:
		if ((attr->bp_len & (attr->bp_len - 1)) || (attr->bp_addr & (attr->bp_len - 1)))
			return refuse(EINVAL, "attr.bp_len is not 1, 2, 4 or 8");
		return refuse(EOPNOTSUPP, "attr.bp_len above 8: a processor without range breakpoints");
	}
	if (attr->bp_addr & (attr->bp_len - 1))
		return refuse(EINVAL, "attr.bp_addr is not a multiple of attr.bp_len");
	return 0;
}

static int check_place(const struct perf_attr *attr)
{
	u64 last = attr->bp_addr + attr->bp_len - 1;
	int err = 0;

	/* Linux quirk: seen of execution breakpoints, too, which then are one byte long. */
	if (last < attr->bp_addr)
		return refuse(EINVAL, "attr.bp_len is 0, or goes beyond the end of memory");
	switch (attr->bp_type) {
	case HW_BREAKPOINT_W:
	case HW_BREAKPOINT_RW:
		err = check_data_length(attr);
		break;
	case HW_BREAKPOINT_X:
		if (attr->bp_len != sizeof(long))
			err = refuse(EINVAL, "attr.bp_len of an execution breakpoint is not sizeof(long)");
		last = attr->bp_addr;
		break;
	case HW_BREAKPOINT_R:
		return refuse(EINVAL, "x86 cannot watch reads alone: use HW_BREAKPOINT_RW");
	default:
		return refuse(EINVAL, "attr.bp_type is not W, RW or X");
	}
	if (!err && last >= TASK_SIZE_MAX)
		err = check_kernel_address(attr);
	return err;
}

static int bp_event_init(const struct perf_attr *attr, struct event_source *out)
{
	int err;

	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return refuse(EOPNOTSUPP, "breakpoints have no branch stacks");
	err = check_place(attr);
	if (err)
		return err;
	if (attr->exclude_user && !attr->exclude_kernel)
		return refuse(EOPNOTSUPP, "kernel mode is invisible to pcl");
	out->hits = 1;
	if (!attr->exclude_user)
		out->units = attr->bp_type == HW_BREAKPOINT_X ? CPU_WANT_BREAK : CPU_WANT_WATCH;
	return 0;
}

static const struct pmu bp_pmu = {
	.name = "breakpoint",
	.type = PERF_TYPE_BREAKPOINT,
	.capabilities = PMU_SOFTWARE | PMU_USER_ONLY,
	.event_init = bp_event_init,
	.read = pmu_no_count,
};

void bp_pmu_init(void)
{
	pmu_register(&bp_pmu);
}
