/* See attr.h. The order of the checks is that of Linux 6.18, seen by tests/abi/errno on the host's kernel. */
#include "event/attr.h"

#include <asm-generic/errno.h>
#include "event/host.h"
#include "event/pmu.h"
#include "event/regs.h"
#include "event/space.h"
#include "rt/refuse.h"
#include "rt/string.h"

#define BRANCH_PRIVILEGES (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)

int attr_allow_kernel(void)
{
	if (event_sysctl()->paranoid > 1 && !host_perfmon_capable())
		return refuse_kernel_mode("perf_event_paranoid above 1 needs exclude_kernel or CAP_PERFMON");
	return 0;
}

int attr_allow_cpu(void)
{
	if (event_sysctl()->paranoid > 0 && !host_perfmon_capable())
		return refuse(EACCES, "per-CPU events need perf_event_paranoid below 1 or CAP_PERFMON");
	return 0;
}

static int refuse_size(gva uattr)
{
	u32 ours = sizeof(struct perf_attr);

	host_copy_out(uattr + offsetof(struct perf_attr, size), &ours, sizeof(ours));
	return refuse(E2BIG, "attr.size is below 64, above a page, or the unknown tail is not zero; it now holds ours");
}

/* 0 if [at, end) of guest memory is all zero, -E2BIG if not, -EFAULT. */
static int check_zero_tail(gva at, gva end)
{
	u64 chunk[16];

	while (at < end) {
		u32 n = MIN(end - at, sizeof(chunk));

		if (host_copy_in(chunk, at, n))
			return refuse(EFAULT, "attr points at memory that cannot be read");
		for (u32 i = 0; i < n; i++)
			if (((u8 *)chunk)[i])
				return -E2BIG;
		at += n;
	}
	return 0;
}

static int copy_in(gva uattr, struct perf_attr *out)
{
	u32 size;
	int err;

	memset(out, 0, sizeof(*out));
	if (host_copy_in(&size, uattr + offsetof(struct perf_attr, size), sizeof(size)))
		return refuse(EFAULT, "attr points at memory that cannot be read");
	if (!size)
		size = PERF_ATTR_VER0;
	if (size < PERF_ATTR_VER0 || size > PAGE_SIZE)
		return refuse_size(uattr);
	err = check_zero_tail(uattr + sizeof(*out), uattr + size);
	if (err)
		return err == -E2BIG ? refuse_size(uattr) : err;
	if (host_copy_in(out, uattr, MIN(size, sizeof(*out))))
		return refuse(EFAULT, "attr points at memory that cannot be read");
	out->size = size;
	return 0;
}

static int check_branches(struct perf_attr *attr)
{
	u64 mask = attr->branch_sample_type;

	if (mask & ~(u64)PERF_SAMPLE_BRANCH_KNOWN)
		return refuse(EINVAL, "unknown bit in attr.branch_sample_type");
	if (!(mask & ~(u64)BRANCH_PRIVILEGES))
		return refuse(EINVAL, "attr.branch_sample_type selects no kind of branch");
	if (!(mask & BRANCH_PRIVILEGES)) {
		mask |= attr->exclude_kernel ? 0 : PERF_SAMPLE_BRANCH_KERNEL;
		mask |= attr->exclude_user ? 0 : PERF_SAMPLE_BRANCH_USER;
		mask |= attr->exclude_hv ? 0 : PERF_SAMPLE_BRANCH_HV;
		attr->branch_sample_type = mask;
	}
	if (mask & (PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV))
		return attr_allow_kernel();
	return 0;
}

static int check_registers(u64 mask)
{
	if (!mask)
		return refuse(EINVAL, "registers are to be sampled but none is selected");
	if (mask & SNAPSHOT_NO_REGS)
		return refuse(EINVAL, "a register that cannot be sampled is selected");
	return 0;
}

static int check_sample_parts(struct perf_attr *attr)
{
	int err = 0;

	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		err = check_branches(attr);
	if (!err && (attr->sample_type & PERF_SAMPLE_REGS_USER))
		err = check_registers(attr->sample_regs_user);
	if (!err && (attr->sample_type & PERF_SAMPLE_STACK_USER)) {
		if (attr->sample_stack_user >= 0xffff)
			err = refuse(EINVAL, "attr.sample_stack_user is above 65534");
		else if (attr->sample_stack_user & 7)
			err = refuse(EINVAL, "attr.sample_stack_user is not a multiple of 8");
	}
	if (err)
		return err;
	if (!attr->sample_max_stack)
		attr->sample_max_stack = (u16)event_sysctl()->max_stack;
	if (attr->sample_type & PERF_SAMPLE_REGS_INTR)
		err = check_registers(attr->sample_regs_intr);
	return err;
}

int attr_copy(gva uattr, struct perf_attr *attr)
{
	int err = copy_in(uattr, attr);

	return err ? err : attr_check(attr);
}

int attr_check(struct perf_attr *attr)
{
	int err;

	if (attr->reserved_1)
		return refuse(EINVAL, "reserved bit in the flags of attr");
	if (attr->reserved_2)
		return refuse(EINVAL, "reserved field of attr is not zero");
	if (attr->aux_action & ~7u)
		return refuse(EINVAL, "reserved bit in attr.aux_action");
	if (attr->sample_type & ~(u64)PERF_SAMPLE_KNOWN)
		return refuse(EINVAL, "unknown bit in attr.sample_type");
	if (attr->read_format & ~(u64)PERF_FORMAT_KNOWN)
		return refuse(EINVAL, "unknown bit in attr.read_format");
	err = check_sample_parts(attr);
	if (err)
		return err;
	if ((attr->sample_type & PERF_SAMPLE_WEIGHT) && (attr->sample_type & PERF_SAMPLE_WEIGHT_STRUCT))
		return refuse(EINVAL, "PERF_SAMPLE_WEIGHT and PERF_SAMPLE_WEIGHT_STRUCT exclude each other");
	if (attr->inherit_thread && !attr->inherit)
		return refuse(EINVAL, "attr.inherit_thread needs attr.inherit");
	if (attr->remove_on_exec && attr->enable_on_exec)
		return refuse(EINVAL, "attr.remove_on_exec and attr.enable_on_exec exclude each other");
	if (attr->sigtrap && !attr->remove_on_exec)
		return refuse(EINVAL, "attr.sigtrap needs attr.remove_on_exec");
	return 0;
}

/* Nothing that is refused here would be granted with perf_event_paranoid below 2 if it is in kernel mode alone. */
static int check_kernel_mode(const struct perf_attr *attr)
{
	bool user_only = pmu_type_user_only(attr->type);
	int err = attr_allow_kernel();

	if (!err && event_sysctl()->paranoid > 1 && user_only)
		err = refuse_kernel_mode(
			"pcl sees user mode only: set exclude_kernel (:u), or perf_event_paranoid below 2");
	if (err && user_only && attr->exclude_user)
		err = refuse(EACCES, "kernel mode is invisible to pcl, whatever perf_event_paranoid is");
	return err;
}

int attr_check_access(const struct perf_attr *attr)
{
	int err = attr->exclude_kernel ? 0 : check_kernel_mode(attr);

	if (!err && attr->namespaces && !host_perfmon_capable())
		err = refuse(EACCES, "attr.namespaces needs CAP_PERFMON");
	if (err)
		return err;
	if (attr->freq && attr->sample_freq > event_sysctl()->max_sample_rate)
		return refuse(EINVAL, "attr.sample_freq is above perf_event_max_sample_rate");
	if (!attr->freq && attr->sample_period >> 63)
		return refuse(EINVAL, "attr.sample_period has bit 63 set");
	if (attr->sample_type & PERF_SAMPLE_PHYS_ADDR)
		err = attr_allow_kernel();
	return err;
}

/* The layout is in the man page under "Reading results". */
u32 attr_read_size(u64 read_format, u32 nr_siblings)
{
	u32 entry = 8, nr = 1, size = 0;

	if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		size += 8;
	if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		size += 8;
	if (read_format & PERF_FORMAT_ID)
		entry += 8;
	if (read_format & PERF_FORMAT_LOST)
		entry += 8;
	if (read_format & PERF_FORMAT_GROUP) {
		nr += nr_siblings;
		size += 8;
	}
	return size + entry * nr;
}
