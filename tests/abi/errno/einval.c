/*
 * EINVAL: attr, arguments, groups.
 * covers: EINVAL
 */
#include "tests/abi/errno/perf.h"

static void test_attr(void)
{
	for (int bit = 40; bit < 64; bit++)
		refused(EINVAL, a.flags |= 1ul << bit);
	refused(EINVAL, a.reserved_2 = 1);
	refused(EINVAL, a.sample_type = 1ul << 25);
	refused(EINVAL, a.sample_type = 1ul << 63);
	refused(EINVAL, a.read_format = 1ul << 32);
	refused(EINVAL, a.sample_type = PERF_SAMPLE_BRANCH_STACK);
	refused(EINVAL, (a.sample_type = PERF_SAMPLE_BRANCH_STACK, a.branch_sample_type = 1ul << 40));
	refused(EINVAL, a.sample_type = PERF_SAMPLE_REGS_USER);
	refused(EINVAL, (a.sample_type = PERF_SAMPLE_REGS_USER, a.sample_regs_user = 1 << 12));
	refused(EINVAL, (a.sample_type = PERF_SAMPLE_REGS_USER, a.sample_regs_user = 1 << 24));
	refused(0, (a.sample_type = PERF_SAMPLE_REGS_USER, a.sample_regs_user = 0xfff));
	refused(EINVAL, a.sample_type = PERF_SAMPLE_REGS_INTR);
	refused(EINVAL, (a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 65535));
	refused(EINVAL, (a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 9));
	refused(0, (a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 65528));
	refused(EINVAL, a.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT);
	refused(EINVAL, a.inherit_thread = 1);
	refused(0, a.inherit_thread = a.inherit = 1);
	refused(EINVAL, a.remove_on_exec = a.enable_on_exec = 1);
	refused(EINVAL, a.sigtrap = 1);
	refused(0, a.sigtrap = a.remove_on_exec = 1);
	refused(EINVAL, a.sample_period = 1ul << 63);
	refused(EINVAL, (a.freq = 1, a.sample_freq = 1ul << 40));
	refused(EINVAL, (a.inherit = 1, a.sample_type = PERF_SAMPLE_READ));
	refused(0, (a.inherit = 1, a.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID));
	refused(EINVAL, (a.use_clockid = 1, a.clockid = 2));
	refused(0, (a.use_clockid = 1, a.clockid = 0));
	refused(0, (a.use_clockid = 1, a.clockid = 11));
}

static void test_arguments(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	expect(perf_try(a, 0, -1, -1, 16), -EINVAL);
	expect(perf_try(a, 0, -1, -1, 1ul << 63), -EINVAL);
	expect(perf_try(a, -1, -1, -1, 0), -EINVAL);
	expect(perf_try(a, 0, -2, -1, 0), -EINVAL);
	expect(perf_try(a, 0, 100000, -1, 0), -EINVAL);
	expect(perf_try(a, -1, 100000, -1, 0), -EINVAL);
	expect(perf_try(a, 0, -1, -1, PERF_FLAG_PID_CGROUP), -EINVAL);
	expect(perf_try(a, -1, 0, -1, PERF_FLAG_PID_CGROUP), -EINVAL);
	a.sigtrap = a.remove_on_exec = 1;
	expect(perf_try(a, -1, 0, -1, 0), -EINVAL);
}

static void test_groups(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int leader = (int)perf_open(&a, 0, -1, -1, 0);
	int sibling = (int)perf_open(&a, 0, -1, leader, 0);
	int on_cpu = (int)perf_open(&a, 0, 0, -1, 0);

	expect(perf_try(a, 0, -1, sibling, 0), -EINVAL);
	expect(perf_try(a, 0, -1, sibling, PERF_FLAG_FD_NO_GROUP), 0);
	expect(perf_try(a, 0, -1, leader, PERF_FLAG_FD_OUTPUT), -EINVAL);
	expect(perf_try(a, 0, -1, leader, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), -EINVAL);
	expect(perf_try(a, 0, -1, on_cpu, 0), -EINVAL);
	expect(perf_try(a, 0, 0, leader, 0), -EINVAL);
	expect(perf_try(a, 0, 0, on_cpu, 0), 0);
	a.inherit = 1;
	expect(perf_try(a, 0, -1, leader, 0), -EINVAL);
	a.inherit = 0;
	a.pinned = 1;
	expect(perf_try(a, 0, -1, leader, 0), -EINVAL);
	expect(perf_try(a, 0, -1, -1, 0), 0);
	a.pinned = 0;
	a.exclusive = 1;
	expect(perf_try(a, 0, -1, leader, 0), -EINVAL);
	expect(perf_try(a, 0, -1, -1, 0), 0);
	a.exclusive = 0;
	a.use_clockid = 1;
	a.clockid = 1;
	expect(perf_try(a, 0, -1, leader, 0), -EINVAL);
}

static void test_other_task(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int fd, status;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	fd = (int)perf_open(&a, pid, -1, -1, 0);
	expect(fd >= 0, 1);
	expect(perf_try(a, 0, -1, fd, 0), -EINVAL);
	expect(perf_try(a, pid, -1, fd, 0), 0);
	kill(pid, 9);
	waitpid(pid, &status, 0);
}

static void test_ioctls(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	long fd = perf_open(&a, 0, -1, -1, 0), other = perf_open(&a, 0, -1, -1, 0);
	unsigned long period = 5;
	char byte;

	expect(perf_ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)fd), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)other), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1ul), 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)"x"), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_BPF, 1), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), -EINVAL);
	if (perf_linux_is_new())
		/* clocks: a quirk */
		expect(perf_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&a), -EINVAL);
	a.type = PERF_TYPE_HARDWARE;
	expect(perf_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&a), -EINVAL);
	expect(write((int)fd, &byte, 1) < 0 ? errno : 0, EINVAL);
}

int main(void)
{
	test_attr();
	test_arguments();
	test_groups();
	test_other_task();
	test_ioctls();
	return perf_result();
}
