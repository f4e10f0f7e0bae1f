/* Counting: states, groups, times, and every read format. */
#include "tests/unit/event/fake.h"

static void test_enabled_at_once(void)
{
	long fd;

	fake_session();
	run(1, 100);
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	expect(fd >= 0);
	expect_long(value_of(fd), 0);
	run(1, 10);
	expect_long(value_of(fd), 10);
	expect_long(control(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	expect_long(fake[1].want, 0);
	run(1, 1000);
	expect_long(value_of(fd), 10);
	expect_long(control(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	run(1, 5);
	expect_long(value_of(fd), 15);
	expect_long(control(fd, PERF_EVENT_IOC_RESET, 0), 0);
	run(1, 7);
	expect_long(value_of(fd), 7);
	expect_empty();
	expect_long(fake[1].want, 0);
}

static void test_shared_cell(void)
{
	long a, b, c;

	fake_session();
	a = open_simple(PERF_TYPE_RAW, 0, -1);
	run(1, 3);
	b = open_simple(PERF_TYPE_RAW, 0, -1);
	c = open_simple(PERF_TYPE_RAW, 1, -1);
	expect_long(fake[1].want, 3);
	run(1, 4);
	event_files_close(1, (u64)a);
	expect_long(fake[1].want, 3);
	run(1, 6);
	expect_long(value_of(b), 10);
	expect_long(value_of(c), 5);
	event_files_close(1, (u64)b);
	expect_long(fake[1].want, 2);
	expect_empty();
}

static void test_scaled_source(void)
{
	long fd;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, FAKE_CELLS - 1, -1);
	run(1, 7);
	expect_long(value_of(fd), 1);
	run(1, 1);
	expect_long(value_of(fd), 2);
	expect_empty();
}

/* While the leader is off nothing in its group counts; a sibling switches only itself. */
static void test_group_states(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long leader, sibling;

	fake_session();
	attr.disabled = 1;
	leader = fake_open(&attr, 0, -1, -1, 0);
	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	sibling = fake_open(&attr, 0, -1, (s32)leader, 0);
	run(1, 10);
	expect_long(value_of(sibling), 0);
	expect_long(fake[1].want, 0);
	control(leader, PERF_EVENT_IOC_ENABLE, 0);
	run(1, 10);
	control(sibling, PERF_EVENT_IOC_DISABLE, 0);
	run(1, 10);
	expect_long(value_of(leader), 20);
	expect_long(value_of(sibling), 10);
	control(sibling, PERF_EVENT_IOC_ENABLE, 0);
	control(leader, PERF_EVENT_IOC_DISABLE, 0);
	run(1, 10);
	expect_long(value_of(sibling), 10);
	control(sibling, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	run(1, 1);
	expect_long(value_of(leader), 21);
	expect_long(value_of(sibling), 11);
	control(sibling, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	expect_long(value_of(leader), 0);
	expect_long(value_of(sibling), 0);
	control(sibling, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	run(1, 5);
	expect_long(value_of(leader), 0);
	expect_empty();
}

/* Closing a leader leaves its siblings as groups of one, counting. */
static void test_leader_closed(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long leader, sibling, other;

	fake_session();
	attr.disabled = 1;
	leader = fake_open(&attr, 0, -1, -1, 0);
	attr.disabled = 0;
	sibling = fake_open(&attr, 0, -1, (s32)leader, 0);
	event_files_close(1, (u64)leader);
	run(1, 4);
	expect_long(value_of(sibling), 4);
	other = open_simple(PERF_TYPE_RAW, 1, (s32)sibling);
	expect(other >= 0);
	expect_empty();
}

static void test_times(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	u64 v[4];
	long fd;

	fake_session();
	run(1, 1000);
	attr.disabled = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
	fd = fake_open(&attr, 0, -1, -1, 0);
	run(1, 50);
	expect_long(event_read(1, (u64)fd, v, sizeof(v)), 32);
	expect_long(v[1], 0);
	control(fd, PERF_EVENT_IOC_ENABLE, 0);
	run(1, 60);
	fake_mono += 500; /* the task sleeps: its context's clock stands still */
	event_read(1, (u64)fd, v, sizeof(v));
	expect_long(v[0], 60);
	expect_long(v[1], 60);
	expect_long(v[2], 60);
	expect_long(v[3], event_slot(event_files_lookup(1, (u64)fd))->id);
	control(fd, PERF_EVENT_IOC_DISABLE, 0);
	run(1, 9);
	control(fd, PERF_EVENT_IOC_RESET, 0);
	event_read(1, (u64)fd, v, sizeof(v));
	expect_long(v[0], 0);
	expect_long(v[1], 60); /* there is no way to reset the times */
	expect_empty();
}

/* All 32 formats, of a leader and of a sibling, against the layout in the man page. */
static void test_formats(u64 format)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	u64 v[16], want[16], id[2];
	long fd[2];
	u32 n = 0, group = format & PERF_FORMAT_GROUP;

	fake_session();
	attr.read_format = format;
	fd[0] = fake_open(&attr, 0, -1, -1, 0);
	run(1, 2);
	attr.config = 1;
	fd[1] = fake_open(&attr, 0, -1, (s32)fd[0], 0);
	run(1, 8);
	for (int i = 0; i < 2; i++)
		expect_long(control(fd[i], PERF_EVENT_IOC_ID, (u64)&id[i]), 0);
	for (int which = 0; which < 2; which++, n = 0) {
		u64 time = which && !group ? 8 : 10;

		if (group)
			want[n++] = 2;
		else
			want[n++] = which ? 4 : 10;
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			want[n++] = time;
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			want[n++] = time;
		for (int i = group ? 0 : which; i <= (group ? 1 : which); i++) {
			if (group)
				want[n++] = i ? 4 : 10;
			if (format & PERF_FORMAT_ID)
				want[n++] = id[i];
			if (format & PERF_FORMAT_LOST)
				want[n++] = 0;
		}
		expect_long(event_read(1, (u64)fd[which], v, n * 8 - 1), -ENOSPC);
		expect_long(event_read(1, (u64)fd[which], v, 0), -ENOSPC);
		expect_long(event_read(1, (u64)fd[which], v, sizeof(v)), n * 8);
		expect(!memcmp(v, want, n * 8));
	}
	expect_empty();
}

static void test_ioctl_errors(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	u64 id;
	long fd;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	expect_long(control(fd, PERF_EVENT_IOC_REFRESH, 1), -EINVAL);
	expect_long(control(fd, PERF_EVENT_IOC_PERIOD, (u64)&id), -EINVAL);
	expect_long(control(fd, PERF_EVENT_IOC_SET_OUTPUT, (u64)-1), 0);
	expect_long(control(fd, PERF_EVENT_IOC_SET_OUTPUT, 99), -EBADF);
	expect_long(control(fd, PERF_EVENT_IOC_SET_OUTPUT, (u64)fd), -EINVAL);
	expect_long(control(fd, PERF_EVENT_IOC_SET_FILTER, (u64) "x"), -EINVAL);
	expect_long(control(fd, PERF_EVENT_IOC_SET_BPF, 0), -EINVAL);
	expect_long(control(fd, PERF_EVENT_IOC_SET_BPF, 99), -EBADF);
	expect_long(control(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), -EINVAL);
	expect_long(control(fd, PERF_EVENT_IOC_QUERY_BPF, 0), -EINVAL);
	expect_long(control(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (u64)&attr), -EOPNOTSUPP);
	expect_long(control(fd, 0x2499, 0), -ENOTTY);
	fake_capable = false;
	expect_long(control(fd, PERF_EVENT_IOC_QUERY_BPF, 0), -EPERM);
	expect_empty();
}

/* prctl reaches what the task opened itself, members of groups included, and nothing else. */
static void test_prctl(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long leader, sibling, others;

	fake_session();
	fake_fork(1, 2, CLONE_FILES);
	attr.disabled = 1;
	leader = fake_open(&attr, 0, -1, -1, 0);
	sibling = fake_open(&attr, 0, -1, (s32)leader, 0);
	fake_current = 2;
	others = fake_open(&attr, 1001, -1, -1, 0);
	event_switch_owned(1, true);
	run(1, 5);
	expect_long(value_of(leader), 5);
	expect_long(value_of(sibling), 5);
	expect_long(value_of(others), 0);
	event_switch_owned(1, false);
	event_switch_owned(2, true);
	run(1, 5);
	expect_long(value_of(leader), 5);
	expect_long(value_of(others), 5);
	fake_exit(2);
	fake_current = 1;
	expect_empty();
}

/* More events on one task than 16 bits hold. Debug builds look at all of them each time one is opened or closed. */
static void test_many(void)
{
#ifndef PCL_DEBUG
	const u64 n = 0x10000, first = 3;
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	struct event_request rq;

	fake_session();
	for (u64 i = 0; i < n; i++) {
		expect_long(event_open_begin((gva)&attr, 0, -1, -1, 0, &rq), 0);
		expect_long(event_open_commit(&rq, first + i, i + 1), 0);
	}
	expect_long(fake[1].want, 1);
	run(1, 10);
	expect_long(value_of(first), 10);
	expect_long(value_of(first + n - 1), 10);
	for (u64 i = 1; i < n; i++)
		event_files_close(1, first + i);
	run(1, 5);
	expect_long(value_of(first), 15);
	event_files_close(1, first);
	expect_long(fake[1].want, 0);
#endif
}

int main(void)
{
	test_enabled_at_once();
	test_many();
	test_shared_cell();
	test_scaled_source();
	test_group_states();
	test_leader_closed();
	test_times();
	for (u64 format = 0; format <= PERF_FORMAT_KNOWN; format++)
		test_formats(format);
	test_ioctl_errors();
	test_prctl();
	return unit_result();
}
