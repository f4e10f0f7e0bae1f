/*
 * What perf_event_open refuses, with which errno, and which check comes first.
 * covers: perf_event_paranoid [012]
 */
#include "tests/unit/event/fake.h"

static struct perf_attr sw(void)
{
	return attr_of(PERF_TYPE_SOFTWARE, 0);
}

/* Opens with one thing changed; the event, if there is one, is closed. */
static long try(struct perf_attr a, s32 pid, s32 cpu, s32 group_fd, u64 flags)
{
	long fd = fake_open(&a, pid, cpu, group_fd, flags);

	if (fd >= 0)
		event_files_close(fake_current, (u64)fd);
	return fd < 0 ? fd : 0;
}

#define refused(err, change)                                                                                           \
	do {                                                                                                           \
		struct perf_attr a = sw();                                                                             \
		change;                                                                                                \
		expect_long(try(a, 0, -1, -1, 0), -(err));                                                             \
	} while (0)

static void test_sizes(void)
{
	char big[PAGE_SIZE + 8] __attribute__((aligned(8))) = {0};
	struct perf_attr *a = (struct perf_attr *)big;
	static const u32 good[] = {0, 64, 65, 72, 80, 96, 104, 112, 120, 128, 136, 137, 144, 4096};
	static const u32 bad[] = {1, 63, 4097, 0xffffffff};

	fake_session();
	*a = sw();
	for (u32 i = 0; i < ARRAY_SIZE(good); i++) {
		a->size = good[i];
		expect_long(fake_open(a, 0, -1, -1, 0), 3);
		expect_long(a->size, good[i]);
		expect_long(event_slot(event_files_lookup(1, 3))->attr.size, good[i] ? good[i] : 64);
		event_files_close(1, 3);
	}
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		a->size = bad[i];
		expect_long(fake_open(a, 0, -1, -1, 0), -E2BIG);
		expect_long(a->size, sizeof(*a));
	}
	for (u32 at = sizeof(*a); at < PAGE_SIZE; at += 1 + at / 4) {
		big[at] = 1;
		a->size = at + 1;
		expect_long(fake_open(a, 0, -1, -1, 0), -E2BIG);
		expect_long(a->size, sizeof(*a));
		a->size = at;
		expect_long(fake_open(a, 0, -1, -1, 0), 3);
		event_files_close(1, 3);
		big[at] = 0;
	}
	/* What lies beyond the given size is not looked at. */
	a->size = 64;
	a->sample_regs_user = 1;
	a->reserved_2 = 1;
	expect_long(fake_open(a, 0, -1, -1, 0), 3);
	expect_empty();
}

static void test_attr(void)
{
	fake_session();
	for (int bit = 38; bit < 64; bit++)
		refused(EINVAL, a.flags |= 1ul << bit);
	refused(EINVAL, a.reserved_2 = 1);
	refused(EINVAL, a.aux_action = 8);
	refused(EINVAL, a.sample_type = 1ul << 25);
	refused(EINVAL, a.read_format = 32);
	refused(EINVAL, a.sample_type = PERF_SAMPLE_BRANCH_STACK);
	refused(EINVAL, (a.sample_type = PERF_SAMPLE_BRANCH_STACK, a.branch_sample_type = 1ul << 20));
	refused(EINVAL, a.sample_type = PERF_SAMPLE_REGS_USER);
	refused(EINVAL, (a.sample_type = PERF_SAMPLE_REGS_USER, a.sample_regs_user = 1 << 12));
	refused(EINVAL, (a.sample_type = PERF_SAMPLE_REGS_INTR, a.sample_regs_intr = 1 << 24));
	refused(EINVAL, (a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 65535));
	refused(EINVAL, (a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 9));
	refused(0, (a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 65528));
	refused(EINVAL, a.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT);
	refused(EINVAL, a.inherit_thread = 1);
	refused(EINVAL, a.remove_on_exec = a.enable_on_exec = 1);
	refused(EINVAL, a.sigtrap = 1);
	refused(0, a.sigtrap = a.remove_on_exec = 1);
	refused(EINVAL, a.sample_period = 1ul << 63);
	refused(EINVAL, (a.freq = 1, a.sample_freq = 100001));
	refused(0, (a.freq = 1, a.sample_freq = 100000));
	refused(0, a.sample_period = 1);
	refused(EOPNOTSUPP, a.aux_output = 1);
	refused(EOVERFLOW, (a.sample_type = PERF_SAMPLE_CALLCHAIN, a.sample_max_stack = 128));
	refused(0, (a.sample_type = PERF_SAMPLE_CALLCHAIN, a.sample_max_stack = 127));
	refused(EINVAL, (a.inherit = 1, a.sample_type = PERF_SAMPLE_READ));
	refused(0, (a.inherit = 1, a.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID));
	refused(EINVAL, (a.use_clockid = 1, a.clockid = 2));
	refused(0, (a.use_clockid = 1, a.clockid = 0));
	refused(ENOENT, a.type = 77);
	refused(ENOENT, a.type = PERF_TYPE_TRACEPOINT);
	refused(ENOENT, (a.type = PERF_TYPE_HARDWARE, a.config = 1ul << 32));
	refused(ENOENT, a.config = 2);
	refused(EINVAL, (a.type = PERF_TYPE_RAW, a.use_clockid = 1, a.clockid = 0));
	refused(0, (a.type = PERF_TYPE_RAW, a.use_clockid = 1, a.clockid = 4));
	expect_empty();
}

static void test_targets(void)
{
	struct perf_attr a = sw();

	fake_session();
	fake_fork(1, 2, 0);
	expect_long(try(a, 0, -1, -1, 16), -EINVAL);
	expect_long(try(a, 1099, -1, -1, 0), -ESRCH);
	expect_long(try(a, -2, -1, -1, 0), -ESRCH);
	expect_long(try(a, -1, -1, -1, 0), -EINVAL);
	expect_long(try(a, -1, 3, -1, 0), -EINVAL);
	expect_long(try(a, -1, 2, -1, 0), -ENODEV);
	expect_long(try(a, -1, 1, -1, 0), 0);
	expect_long(try(a, 0, 3, -1, 0), -EINVAL);
	expect_long(try(a, 0, -2, -1, 0), -EINVAL);
	expect_long(try(a, 0, 1, -1, 0), 0);
	expect_long(try(a, 0, -1, 50, 0), -EBADF);
	expect_long(try(a, 0, -1, -2, 0), -EBADF);
	expect_long(try(a, 0, -1, -1, PERF_FLAG_PID_CGROUP), -EINVAL);
	expect_long(try(a, 0, 0, -1, PERF_FLAG_PID_CGROUP), -EBADF);
	fake[2].hidden = true;
	expect_long(try(a, 1002, -1, -1, 0), 0);
	fake_capable = false;
	expect_long(try(a, 1002, -1, -1, 0), -EACCES);
	fake[2].hidden = false;
	expect_long(try(a, 1002, -1, -1, 0), 0);
	fake_exit(2);
	expect_empty();
}

static void test_privilege(void)
{
	struct perf_attr a = sw(), hw = attr_of(PERF_TYPE_RAW, 0);

	fake_session();
	a.exclude_kernel = hw.exclude_kernel = 0;
	expect_long(try(a, 0, -1, -1, 0), 0);
	expect_long(try(hw, 0, -1, -1, 0), -EACCES); /* the kernel is invisible to uid 0 as well */
	fake_capable = false;
	expect_long(try(a, 0, -1, -1, 0), -EACCES);
	a.exclude_kernel = 1;
	expect_long(try(a, -1, 0, -1, 0), -EACCES);
	refused(EACCES, a.namespaces = 1);
	refused(EACCES, a.sample_type = PERF_SAMPLE_PHYS_ADDR);
	event_sysctl()->paranoid = 1; /* perf_event_paranoid; it was 2 */
	a.exclude_kernel = 0;
	expect_long(try(a, 0, -1, -1, 0), 0);
	expect_long(try(hw, 0, -1, -1, 0), 0);
	expect_long(try(a, -1, 0, -1, 0), -EACCES);
	event_sysctl()->paranoid = 0;
	expect_long(try(a, -1, 0, -1, 0), 0);
	expect_empty();
}

static void test_groups(void)
{
	struct perf_attr a = sw(), hw = attr_of(PERF_TYPE_RAW, 0);
	long leader, sibling, on_cpu, other_task;

	fake_session();
	fake_fork(1, 2, CLONE_FILES);
	leader = fake_open(&a, 0, -1, -1, 0);
	sibling = fake_open(&hw, 0, -1, (s32)leader, 0);
	on_cpu = fake_open(&a, 0, 0, -1, 0);
	other_task = fake_open(&a, 1002, -1, -1, 0);
	expect_long(try(a, 0, -1, (s32)leader, 0), 0);
	expect_long(try(a, 0, -1, (s32)sibling, 0), -EINVAL);
	expect_long(try(a, 0, -1, (s32)sibling, PERF_FLAG_FD_NO_GROUP), 0);
	expect_long(try(a, 0, -1, (s32)leader, PERF_FLAG_FD_OUTPUT), -EINVAL);
	expect_long(try(a, 0, -1, (s32)leader, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), -EINVAL);
	expect_long(try(a, 0, -1, (s32)on_cpu, 0), -EINVAL);
	expect_long(try(a, 0, 0, (s32)on_cpu, 0), 0);
	expect_long(try(a, 0, 1, (s32)on_cpu, 0), -EINVAL);
	expect_long(try(a, 0, -1, (s32)other_task, 0), -EINVAL);
	expect_long(try(a, -1, 0, (s32)on_cpu, 0), -EINVAL);
	a.inherit = 1;
	expect_long(try(a, 0, -1, (s32)leader, 0), -EINVAL);
	a.inherit = 0;
	a.pinned = 1;
	expect_long(try(a, 0, -1, (s32)leader, 0), -EINVAL);
	expect_long(try(a, 0, -1, -1, 0), 0);
	a.pinned = 0;
	a.exclusive = 1;
	expect_long(try(a, 0, -1, (s32)leader, 0), -EINVAL);
	a.exclusive = 0;
	a.use_clockid = 1;
	a.clockid = 1;
	expect_long(try(a, 0, -1, (s32)leader, 0), -EINVAL);
	fake_exit(2);
	expect_empty();
}

/* Linux: 681 events fit into one read of 16 KiB with every format; seen on 6.18. */
static void test_group_size(void)
{
	struct perf_attr a = sw();
	long leader, n = 1, err;

	fake_session();
	a.read_format = PERF_FORMAT_KNOWN;
	leader = fake_open(&a, 0, -1, -1, 0);
	while ((err = fake_open(&a, 0, -1, (s32)leader, 0)) >= 0)
		n++;
	expect_long(n, 681);
	expect_long(err, -E2BIG);
	expect_long(event_count(), 681);
	expect_empty();
}

/* Where several things are wrong, the check that Linux makes first decides. */
static void test_order(void)
{
	struct perf_attr bad = sw();

	fake_session();
	bad.flags |= 1ul << 63;
	expect_long(try(bad, 1099, -1, 50, 16), -EINVAL);
	expect_long(try(sw(), 1099, -1, 50, 0), -EBADF);  /* group before task */
	expect_long(try(sw(), 1099, 3, -1, 0), -ESRCH);	  /* task before CPU */
	bad = attr_of(77, 0);
	expect_long(try(bad, 0, 3, -1, 0), -EINVAL);	  /* CPU before type */
	bad.sample_period = 5;
	expect_long(try(bad, 0, -1, -1, 0), -ENOENT);	  /* type before sampling */
	fake_capable = false;
	bad = attr_of(77, 0);
	expect_long(try(bad, -1, 0, -1, 0), -ENOENT);	  /* type before privilege for a CPU */
	bad.exclude_kernel = 0;
	expect_long(try(bad, 1099, -1, 50, 0), -EACCES);  /* privilege for the kernel before everything but the attr */
	expect_long(fake_open(NULL, 0, -1, -1, 16), -EINVAL);
	expect_empty();
}

int main(void)
{
	test_sizes();
	test_attr();
	test_targets();
	test_privilege();
	test_groups();
	test_group_size();
	test_order();
	return unit_result();
}
