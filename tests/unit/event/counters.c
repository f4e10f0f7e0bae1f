/* Fewer counters than events, pinned and exclusive groups: who counts when, by the kernel's rules. */
#include <signal.h>
#include "event/map.h"
#include "tests/unit/event/counters.h"

/* ---- rotation ---- */

static void test_eight_events(void)
{
	long fd[8];

	session_with(4);
	for (int i = 0; i < 8; i++)
		fd[i] = open_one(counting(), -1);
	go(1, INTERVAL - 1);
	for (int i = 0; i < 8; i++)
		expect_times(fd[i], INTERVAL - 1, i < 4 ? INTERVAL - 1 : 0);
	go(1, 1 + INTERVAL); /* the first has made room for the fifth */
	for (int i = 0; i < 8; i++)
		expect_times(fd[i], 2 * INTERVAL, (u64)((i < 4) + (i > 0 && i < 5)) * INTERVAL);
	go(1, 6 * INTERVAL); /* a round: each had half of the time */
	for (int i = 0; i < 8; i++)
		expect_times(fd[i], 8 * INTERVAL, 4 * INTERVAL);
	expect_empty();
	go(1, INTERVAL); /* the last time that it is interrupted */
	expect_long(event_ctx(1)->look, 0);
}

/* All that fit, fit: nothing is interrupted. */
static void test_enough(void)
{
	long fd[4];

	session_with(4);
	for (int i = 0; i < 4; i++)
		fd[i] = open_one(counting(), -1);
	expect_long(event_ctx(1)->look, 0);
	go(1, 10 * INTERVAL);
	for (int i = 0; i < 4; i++)
		expect_times(fd[i], 10 * INTERVAL, 10 * INTERVAL);
	expect_empty();
}

static void test_interval(void)
{
	long fd[2];

	session_with(1);
	event_sysctl()->mux_interval_ms = 10;
	for (int i = 0; i < 2; i++)
		fd[i] = open_one(counting(), -1);
	go(1, 15 * MS);
	expect_times(fd[0], 15 * MS, 10 * MS);
	expect_times(fd[1], 15 * MS, 5 * MS);
	expect_empty();
}

/* Where the host has no timer, it is noticed on entering the runtime. */
static void test_no_timer(void)
{
	long fd[2];

	session_with(1);
	fake_no_timer = true;
	for (int i = 0; i < 2; i++)
		fd[i] = open_one(counting(), -1);
	event_arm(1);
	run(1, INTERVAL + MS);
	event_tick(1);
	run(1, MS);
	event_tick(1);
	expect_times(fd[0], INTERVAL + 2 * MS, INTERVAL + MS);
	expect_times(fd[1], INTERVAL + 2 * MS, MS);
	fake_no_timer = false;
	expect_empty();
}

static void test_software_takes_none(void)
{
	struct perf_attr clock = attr_of(PERF_TYPE_SOFTWARE, 0);
	long hw[2], sw;

	session_with(1);
	clock.read_format = TIMES;
	hw[0] = open_one(counting(), -1);
	sw = open_one(clock, -1);
	hw[1] = open_one(counting(), -1);
	go(1, 2 * INTERVAL);
	expect_times(sw, 2 * INTERVAL, 2 * INTERVAL);
	expect_times(hw[0], 2 * INTERVAL, INTERVAL);
	expect_times(hw[1], 2 * INTERVAL, INTERVAL);
	expect_empty();
}

/* A group goes on as a whole or not at all, a software member of it too. */
static void test_groups(void)
{
	struct perf_attr clock = attr_of(PERF_TYPE_SOFTWARE, 0);
	long one, two[2], sw;

	session_with(2);
	clock.read_format = TIMES;
	one = open_one(counting(), -1);
	two[0] = open_one(counting(), -1);
	two[1] = open_one(counting(), (s32)two[0]);
	sw = open_one(clock, (s32)two[0]);
	go(1, INTERVAL);
	expect_times(one, INTERVAL, INTERVAL);
	for (int i = 0; i < 2; i++)
		expect_times(two[i], INTERVAL, 0);
	expect_times(sw, INTERVAL, 0);
	go(1, INTERVAL);
	expect_times(one, 2 * INTERVAL, INTERVAL);
	expect_times(two[1], 2 * INTERVAL, INTERVAL);
	expect_times(sw, 2 * INTERVAL, INTERVAL);
	expect_empty();
}

/* Behind one that finds no room none is tried, though it would fit. */
static void test_none_behind(void)
{
	long one, two, small;

	session_with(2);
	one = open_one(counting(), -1);
	two = open_one(counting(), -1);
	open_one(counting(), (s32)two);
	small = open_one(counting(), -1);
	go(1, INTERVAL);
	expect_times(one, INTERVAL, INTERVAL);
	expect_times(small, INTERVAL, 0);
	go(1, INTERVAL); /* two, small, one */
	expect_times(two, 2 * INTERVAL, INTERVAL);
	expect_times(small, 2 * INTERVAL, 0);
	go(1, INTERVAL); /* small, one, two */
	expect_times(small, 3 * INTERVAL, INTERVAL);
	expect_times(one, 3 * INTERVAL, 2 * INTERVAL);
	expect_empty();
}

/* Its limit is where it would have been: samples are of the event's own counts. */
static void test_sampling(void)
{
	struct perf_attr attr = counting();
	long fd, other;
	struct event *e;

	session_with(1);
	attr.sample_period = INTERVAL + MS;
	fd = open_one(attr, -1);
	other = open_one(counting(), -1);
	e = event_slot(event_files_lookup(1, (u64)fd));
	go(1, INTERVAL);
	expect_long(e->period_left, MS);
	go(1, INTERVAL);
	expect_long(e->tally.state, PERF_STATE_ACTIVE);
	event_arm(1);
	expect_long(fake[1].limit[0] - fake[1].cell[0], MS);
	expect_times(other, 2 * INTERVAL, INTERVAL);
	expect_empty();
}

static void test_disable(void)
{
	long fd[3];

	session_with(1);
	for (int i = 0; i < 3; i++)
		fd[i] = open_one(counting(), -1);
	go(1, MS);
	control(fd[0], PERF_EVENT_IOC_DISABLE, 0);
	go(1, INTERVAL - MS); /* the counter is given away at the next rotation, as in Linux */
	expect_times(fd[1], INTERVAL, 0);
	go(1, MS);
	expect_times(fd[0], MS, MS);
	expect_times(fd[2], INTERVAL + MS, MS); /* none counted: the first that waits went to the end */
	control(fd[0], PERF_EVENT_IOC_ENABLE, 0);
	expect_empty();
}

/* ---- what cannot be ---- */

static void test_refused(void)
{
	struct perf_attr off = counting(), clock = attr_of(PERF_TYPE_SOFTWARE, 0);
	long leader, fd;

	session_with(2);
	off.disabled = 1;
	leader = open_one(counting(), -1);
	expect(open_one(clock, (s32)leader) >= 0);
	expect(open_one(off, (s32)leader) >= 0);
	expect(open_one(counting(), (s32)leader) >= 0); /* a member that is off is not counted in */
	expect_long(open_one(counting(), (s32)leader), -EINVAL);
	expect(open_one(clock, (s32)leader) >= 0);
	fd = open_one(clock, -1); /* led by a software event */
	expect(open_one(counting(), (s32)fd) >= 0);
	expect(open_one(counting(), (s32)fd) >= 0);
	expect_long(open_one(counting(), (s32)fd), -EINVAL);
	expect_empty();
}

/* ---- pinned ---- */

static void expect_error(long fd)
{
	u64 v[3];

	expect_long(event_read(fake_current, (u64)fd, v, sizeof(v)), 0);
	expect_long(event_slot(event_files_lookup(1, (u64)fd))->tally.state, PERF_STATE_ERROR);
}

static void test_pinned(void)
{
	struct perf_attr pinned = counting();
	long flexible, first, second;

	session_with(1);
	pinned.pinned = 1;
	flexible = open_one(counting(), -1);
	go(1, MS);
	first = open_one(pinned, -1); /* takes the counter of the one that is not pinned */
	second = open_one(pinned, -1);
	expect_error(second);
	expect_long(fake_wakes.kill, POLL_ERR);
	go(1, 3 * INTERVAL);
	expect_times(first, 3 * INTERVAL, 3 * INTERVAL);
	expect_times(flexible, MS + 3 * INTERVAL, MS);
	control(second, PERF_EVENT_IOC_ENABLE, 0);
	expect_error(second);
	control(first, PERF_EVENT_IOC_DISABLE, 0);
	expect_error(second); /* until it is enabled again */
	control(second, PERF_EVENT_IOC_ENABLE, 0);
	go(1, MS);
	expect_times(second, MS, MS);
	expect_empty();
}

/* The group's members are not enabled while their leader is in error. */
static void test_pinned_group(void)
{
	struct perf_attr pinned = counting();
	long first, leader, member;

	session_with(2);
	pinned.pinned = 1;
	first = open_one(pinned, -1);
	leader = open_one(pinned, -1);
	member = open_one(counting(), (s32)leader);
	go(1, MS);
	expect_times(first, MS, MS);
	expect_error(leader);
	expect_times(member, 0, 0);
	expect_empty();
}

/* ---- exclusive ---- */

/* Without a limit of counters too. */
static void test_exclusive(void)
{
	struct perf_attr alone = counting(), clock = attr_of(PERF_TYPE_SOFTWARE, 0);
	long before, fd, sw;

	fake_session();
	alone.exclusive = 1;
	clock.read_format = TIMES;
	before = open_one(counting(), -1);
	sw = open_one(clock, -1);
	fd = open_one(alone, -1);
	go(1, INTERVAL);
	expect_times(before, INTERVAL, INTERVAL);
	expect_times(fd, INTERVAL, 0);
	go(1, INTERVAL);
	expect_times(before, 2 * INTERVAL, INTERVAL);
	expect_times(fd, 2 * INTERVAL, INTERVAL);
	expect_times(sw, 2 * INTERVAL, 2 * INTERVAL);
	go(1, INTERVAL + MS);
	event_files_close(1, (u64)fd);
	go(1, 2 * INTERVAL);
	expect_times(before, 5 * INTERVAL + MS, 3 * INTERVAL + MS); /* from the next rotation on */
	expect_long(event_ctx(1)->look, 0);
	expect_empty();
}

/* Beside pinned events that are not exclusive, as in Linux. */
static void test_exclusive_pinned(void)
{
	struct perf_attr alone = counting(), pinned = counting();
	long fd[3];

	fake_session();
	alone.exclusive = 1;
	pinned.pinned = 1;
	fd[0] = open_one(pinned, -1);
	fd[1] = open_one(alone, -1);
	go(1, MS);
	expect_times(fd[0], MS, MS);
	expect_times(fd[1], MS, MS);
	alone.pinned = 1;
	fd[2] = open_one(alone, -1);
	expect_error(fd[2]);
	event_files_close(1, (u64)fd[0]);
	control(fd[2], PERF_EVENT_IOC_ENABLE, 0);
	go(1, INTERVAL);
	expect_times(fd[2], INTERVAL, INTERVAL);
	expect_times(fd[1], MS + INTERVAL, MS);
	expect_empty();
}

/* ---- families, CPUs ---- */

static void test_inherited(void)
{
	struct perf_attr attr = counting();
	long fd[2];

	session_with(1);
	attr.inherit = 1;
	for (int i = 0; i < 2; i++)
		fd[i] = open_one(attr, -1);
	fake_fork(1, 2, 0);
	go(2, INTERVAL + MS); /* each task rotates by its own time */
	go(1, INTERVAL - MS);
	expect_times(fd[0], 2 * INTERVAL, 2 * INTERVAL - MS);
	expect_times(fd[1], 2 * INTERVAL, MS);
	fake_exit(2);
	expect_times(fd[1], 2 * INTERVAL, MS);
	go(1, 2 * MS);
	expect_times(fd[1], 2 * INTERVAL + 2 * MS, 2 * MS);
	expect_empty();
}

static void test_exec(void)
{
	struct perf_attr attr = counting();
	long fd[2];

	session_with(1);
	attr.disabled = attr.enable_on_exec = 1;
	for (int i = 0; i < 2; i++)
		fd[i] = open_one(attr, -1);
	go(1, MS);
	event_task_exec(1);
	go(1, 2 * INTERVAL);
	for (int i = 0; i < 2; i++)
		expect_times(fd[i], 2 * INTERVAL, INTERVAL);
	expect_empty();
}

static long open_cpu(struct perf_attr attr, s32 cpu)
{
	return fake_open(&attr, -1, cpu, -1, 0);
}

/* The CPU's events come first, and rotate by themselves. */
static void test_cpu_first(void)
{
	long cpu[2], own;

	session_with(1);
	own = open_one(counting(), -1);
	go(1, MS);
	for (int i = 0; i < 2; i++)
		cpu[i] = open_cpu(counting(), 0);
	go(1, 2 * INTERVAL);
	expect_times(own, MS + 2 * INTERVAL, MS);
	for (int i = 0; i < 2; i++)
		expect_times(cpu[i], 2 * INTERVAL, INTERVAL);
	fake[1].cpu = 1; /* none of these there */
	go(1, MS);
	expect_times(own, 2 * MS + 2 * INTERVAL, 2 * MS);
	expect_empty();
}

/* A task's pinned event takes the counter of the CPU's while it runs; the time says so. */
static void test_kept_out(void)
{
	struct perf_attr pinned = counting();
	long cpu, own;

	session_with(1);
	pinned.pinned = 1;
	fake_fork(1, 2, 0);
	cpu = open_cpu(counting(), 0);
	go(2, MS);
	own = open_one(pinned, -1);
	go(1, 3 * MS);
	go(2, MS);
	expect_times(own, 3 * MS, 3 * MS);
	expect_times(cpu, 5 * MS, 2 * MS);
	control(own, PERF_EVENT_IOC_DISABLE, 0);
	go(1, MS); /* the room is given away when groups are placed again: */
	event_files_close(1, (u64)open_one(counting(), -1));
	go(1, MS);
	expect_times(cpu, 7 * MS, 3 * MS);
	control(cpu, PERF_EVENT_IOC_DISABLE, 0);
	expect_times(cpu, 7 * MS, 3 * MS);
	expect_empty();
}

/* The first page says what read(2) does. */
static void test_kept_out_on_the_page(void)
{
	struct event_map_request map = {.len = PAGE_SIZE, .prot = PROT_READ, .flags = MAP_SHARED, .addr = 0x10000};
	struct perf_attr pinned = counting();
	const struct perf_event_mmap_page *page;
	long cpu;

	session_with(1);
	pinned.pinned = 1;
	cpu = open_cpu(counting(), 0);
	expect_long(event_map_begin(1, (u64)cpu, &map), 0);
	event_map_commit(&map);
	page = host_ring_page(map.page);
	open_one(pinned, -1);
	go(1, 3 * MS);
	control(cpu, PERF_EVENT_IOC_RESET, 0); /* writes it */
	expect_times(cpu, 3 * MS, 0);
	expect_long(page->time_enabled, 3 * MS);
	expect_long(page->time_running, 0);
	event_map_remove_begin(1, map.addr, map.addr + map.len);
	event_map_remove_end(1, map.addr, map.addr + map.len, true);
	expect_empty();
}

/* The child ends first. */
static void test_kept_out_to_the_end(void)
{
	struct perf_attr pinned = counting();
	long cpu;

	session_with(1);
	pinned.pinned = 1;
	fake_fork(1, 2, 0);
	cpu = open_cpu(counting(), 0);
	fake_open(&pinned, 1002, -1, -1, 0);
	go(2, 2 * MS);
	fake_exit(2);
	go(1, MS);
	expect_times(cpu, 3 * MS, MS);
	expect_empty();
}

static void test_cpu_group(void)
{
	struct perf_attr pinned = counting(), attr = pinned;
	long a, b, member;

	session_with(2);
	a = open_cpu(counting(), 0);
	b = open_cpu(counting(), 0);
	member = fake_open(&attr, -1, 0, (s32)b, 0);
	go(1, INTERVAL);
	expect_times(a, INTERVAL, INTERVAL);
	expect_times(member, INTERVAL, 0);
	go(1, INTERVAL);
	expect_times(a, 2 * INTERVAL, INTERVAL);
	expect_times(member, 2 * INTERVAL, INTERVAL);
	pinned.pinned = 1;
	open_cpu(pinned, 0);
	expect_long(open_cpu(pinned, 0) >= 0, 1);
	expect_error(open_cpu(pinned, 0));
	go(1, 2 * INTERVAL); /* no room is left, for the task neither */
	expect_times(a, 4 * INTERVAL, INTERVAL);
	expect_times(b, 4 * INTERVAL, INTERVAL);
	expect_empty();
}

int main(void)
{
	test_eight_events();
	test_enough();
	test_interval();
	test_no_timer();
	test_software_takes_none();
	test_groups();
	test_none_behind();
	test_sampling();
	test_disable();
	test_refused();
	test_pinned();
	test_pinned_group();
	test_exclusive();
	test_exclusive_pinned();
	test_inherited();
	test_exec();
	test_cpu_first();
	test_kept_out();
	test_kept_out_on_the_page();
	test_kept_out_to_the_end();
	test_cpu_group();
	return unit_result();
}
