/*
 * PERF_EVENT_IOC_MODIFY_ATTRIBUTES: what may differ from the open, that attr.disabled decides whether it counts
 * afterwards, also after a refusal, and that counts stay.
 * covers: PERF_EVENT_IOC_MODIFY_ATTRIBUTES, attr.bp_*
 */
#include "tests/abi/breakpoint.h"

static _Alignas(64) volatile long word[8];

static struct perf_attr attr;
static long fd;

static long modify(struct perf_attr a)
{
	return perf_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&a);
}

#define modified(want, change)                                                                                         \
	do {                                                                                                           \
		struct perf_attr a = attr;                                                                             \
		change;                                                                                                \
		expect(modify(a), want);                                                                               \
	} while (0)

/* How much the count rises by stores to word[0] and word[1]. */
static void counts(long first, long second)
{
	long was = perf_value(fd), now;

	word[0]++;
	now = perf_value(fd);
	expect(now - was, first);
	word[1]++;
	expect(perf_value(fd) - now, second);
}

static void places(void)
{
	counts(1, 0);
	modified(0, (void)a);
	counts(1, 0);
	modified(0, a.bp_addr += 8);
	counts(0, 1);
	modified(0, a.bp_type = HW_BREAKPOINT_RW);
	counts(2, 0);
	modified(0, (a.bp_type = HW_BREAKPOINT_W, a.bp_addr += 4, a.bp_len = 2));
	counts(1, 0);
	modified(0, a.bp_type = HW_BREAKPOINT_X);
	counts(0, 0);
	modified(0, (void)a);
	counts(1, 0);
}

static void refusals(void)
{
	modified(-EINVAL, a.bp_type = HW_BREAKPOINT_R);
	modified(-EINVAL, a.bp_addr += 1);
	modified(-EINVAL, a.bp_len = 3);
	modified(-EINVAL, a.bp_addr = 0xffff888000000000);
	modified(-EINVAL, a.type = PERF_TYPE_SOFTWARE);
	modified(-EINVAL, a.config = 7);
	modified(-EINVAL, a.inherit = 1);
	modified(-EINVAL, a.exclude_user = 1);
	modified(-EINVAL, a.sample_period = 5);
	modified(-EINVAL, a.sample_type = PERF_SAMPLE_IP);
	modified(-EINVAL, a.read_format = PERF_FORMAT_ID);
	modified(-EINVAL, a.pinned = 1);
	modified(-EINVAL, a.wakeup_events = 9);
	modified(-EINVAL, a.remove_on_exec = 1);
	modified(-EINVAL, a.size = 64);
	modified(-E2BIG, a.size = 8);
	modified(0, a.sig_data = 7);
	modified(0, a.sig_data = 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 8), -EFAULT);
	counts(1, 0);
}

static void states(void)
{
	modified(0, a.disabled = 1);
	counts(0, 0);
	modified(-EINVAL, a.bp_len = 3); /* stays as attr.disabled was last */
	counts(0, 0);
	modified(0, (void)a);
	counts(1, 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	counts(0, 0);
	modified(-EINVAL, a.bp_len = 3); /* Linux quirk: a refusal enables it, too */
	counts(1, 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	modified(0, (void)a);
	counts(1, 0);
}

/* The children that it has by then are changed with it. */
static void inherited(void)
{
	int to_child[2], to_parent[2], status;
	char c;
	pid_t pid;

	attr.inherit = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	expect(pipe(to_child) | pipe(to_parent), 0);
	pid = fork();
	if (!pid) {
		word[0]++;
		word[1]++;
		expect(write(to_parent[1], "", 1), 1);
		expect(read(to_child[0], &c, 1), 1);
		word[0] += 2;
		for (int i = 0; i < 10; i++)
			word[1]++;
		_exit(0);
	}
	expect(read(to_parent[0], &c, 1), 1);
	expect(perf_value(fd), 1);
	modified(0, a.bp_addr += 8);
	expect(write(to_child[1], "", 1), 1);
	waitpid(pid, &status, 0);
	expect(perf_value(fd), 11);
	counts(0, 1);
	close((int)fd);
}

static void others(void)
{
	attr = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);
	fd = perf_open(&attr, 0, -1, -1, 0);
	modified(-EOPNOTSUPP, (void)a);
	close((int)fd);
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	fd = perf_open(&attr, 0, -1, -1, 0);
	modified(-EINVAL, (void)a);
	close((int)fd);
}

/*
 * Without PERF_SAMPLE_BRANCH_STACK the event has a branch_sample_type of 0, and the attr that it was opened with is
 * another.
 */
static void branches(void)
{
	attr = bp_attr(HW_BREAKPOINT_W, word, 8);
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	fd = perf_open(&attr, 0, -1, -1, 0);
	modified(-EINVAL, (void)a);
	modified(0, a.branch_sample_type = 0);
	close((int)fd);
}

int main(void)
{
	bp_skip_without();
	attr = bp_attr(HW_BREAKPOINT_W, word, 8);
	fd = perf_open(&attr, 0, -1, -1, 0);
	places();
	refusals();
	states();
	close((int)fd);
	inherited();
	others();
	branches();
	return perf_result();
}
