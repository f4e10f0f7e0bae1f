/* Children: fork, exit, exec, and what the parent event reads. */
#include "tests/unit/event/fake.h"

static long open_inherited(struct perf_attr *attr, s32 group_fd)
{
	attr->inherit = 1;
	return fake_open(attr, 0, -1, group_fd, 0);
}

static void test_sum(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	u64 v[3];
	long fd;

	fake_session();
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = open_inherited(&attr, -1);
	run(1, 10);
	expect_long(fake_fork(1, 2, 0), 0);
	expect_long(fake[2].want, 1);
	run(2, 100);
	expect_long(fake_fork(2, 3, 0), 0);
	run(3, 1000);
	run(1, 5);
	expect_long(value_of(fd), 1115);
	fake_exit(2);
	run(3, 1);
	expect_long(value_of(fd), 1116);
	fake_exit(3);
	event_read(1, (u64)fd, v, sizeof(v));
	expect_long(v[0], 1116);
	expect_long(v[1], 1116);
	expect_long(v[2], 1116);
	expect_long(event_count(), 1);
	expect_empty();
}

/* A task that existed before the event was opened is not counted, nor what it forks. */
static void test_only_new(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long fd;

	fake_session();
	fake_fork(1, 2, 0);
	fd = open_inherited(&attr, -1);
	fake_fork(2, 3, 0);
	run(2, 10);
	run(3, 10);
	expect_long(value_of(fd), 0);
	expect_long(fake[2].want | fake[3].want, 0);
	fake_exit(2);
	fake_exit(3);
	expect_empty();
}

/* ENABLE, DISABLE and RESET reach living children; what dead ones counted cannot be reset. */
static void test_family_control(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long fd;

	fake_session();
	attr.disabled = 1;
	fd = open_inherited(&attr, -1);
	fake_fork(1, 2, 0);
	run(2, 10);
	expect_long(value_of(fd), 0);
	control(fd, PERF_EVENT_IOC_ENABLE, 0);
	run(2, 10);
	expect_long(value_of(fd), 10);
	control(fd, PERF_EVENT_IOC_DISABLE, 0);
	run(2, 10);
	expect_long(value_of(fd), 10);
	control(fd, PERF_EVENT_IOC_ENABLE, 0);
	control(fd, PERF_EVENT_IOC_RESET, 0);
	run(2, 3);
	expect_long(value_of(fd), 3);
	fake_exit(2);
	control(fd, PERF_EVENT_IOC_RESET, 0);
	expect_long(value_of(fd), 3);
	expect_empty();
}

/* The child's state follows the present state of the parent's event, not attr.disabled. */
static void test_state_follows(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long fd;

	fake_session();
	fd = open_inherited(&attr, -1);
	control(fd, PERF_EVENT_IOC_DISABLE, 0);
	fake_fork(1, 2, 0);
	run(2, 10);
	expect_long(value_of(fd), 0);
	fake_exit(2);
	expect_empty();
}

static void test_group(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	u64 v[4];
	long leader, sibling;

	fake_session();
	attr.read_format = PERF_FORMAT_GROUP;
	leader = open_inherited(&attr, -1);
	attr.config = 1;
	sibling = open_inherited(&attr, (s32)leader);
	control(leader, PERF_EVENT_IOC_DISABLE, 0);
	fake_fork(1, 2, 0);
	run(2, 10);
	control(leader, PERF_EVENT_IOC_ENABLE, 0);
	run(2, 20);
	expect_long(event_read(1, (u64)sibling, v, sizeof(v)), 24);
	expect_long(v[0], 2);
	expect_long(v[1], 20);
	expect_long(v[2], 10);
	fake_exit(2);
	event_read(1, (u64)leader, v, sizeof(v));
	expect_long(v[1], 20);
	expect_long(v[2], 10);
	expect_empty();
}

static void test_inherit_thread(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long fd;

	fake_session();
	attr.inherit_thread = 1;
	fd = open_inherited(&attr, -1);
	fake_fork(1, 2, 0);
	fake_fork(1, 3, CLONE_THREAD | CLONE_FILES);
	run(2, 10);
	run(3, 7);
	expect_long(value_of(fd), 7);
	fake_exit(2);
	fake_exit(3);
	expect_empty();
}

static void test_exec(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long fd, gone;

	fake_session();
	attr.disabled = attr.enable_on_exec = 1;
	fd = open_inherited(&attr, -1);
	attr.enable_on_exec = attr.disabled = 0;
	attr.remove_on_exec = 1;
	gone = fake_open(&attr, 0, -1, -1, 0);
	run(1, 10);
	event_task_exec(1);
	run(1, 5);
	expect_long(value_of(fd), 5);
	expect_long(value_of(gone), 10);
	expect_long(control(gone, PERF_EVENT_IOC_ENABLE, 0), 0);
	run(1, 1);
	expect_long(value_of(gone), 10);
	control(fd, PERF_EVENT_IOC_DISABLE, 0);
	event_task_exec(1); /* only the next exec enables */
	run(1, 5);
	expect_long(value_of(fd), 6);
	expect_empty();
}

/* What the attr says of exec is about the event's own task: per-CPU events have none. */
static void test_exec_per_cpu(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long off, on;

	fake_session();
	attr.disabled = attr.enable_on_exec = 1;
	off = fake_open(&attr, -1, 0, -1, 0);
	attr.disabled = attr.enable_on_exec = 0;
	attr.remove_on_exec = 1;
	on = fake_open(&attr, -1, 0, -1, 0);
	event_task_exec(1);
	run(1, 5);
	expect_long(value_of(off), 0);
	expect_long(value_of(on), 5);
	control(off, PERF_EVENT_IOC_ENABLE, 0);
	run(1, 5);
	expect_long(value_of(off), 5);
	expect_empty();
}

/* An event of a disabled group is inherited by a child that then executes a program. */
static void test_exec_in_child(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long fd;

	fake_session();
	attr.disabled = attr.enable_on_exec = 1;
	fd = open_inherited(&attr, -1);
	fake_fork(1, 2, 0);
	run(2, 10);
	event_task_exec(2);
	run(2, 4);
	expect_long(value_of(fd), 4);
	fake_exit(2);
	expect_long(value_of(fd), 4);
	expect_empty();
}

static void test_exited_task(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long fd;

	fake_session();
	fake_fork(1, 2, 0);
	fd = fake_open(&attr, 1002, -1, -1, 0);
	run(2, 12);
	fake_exit(2);
	event_task_exit(2); /* the second time nothing happens */
	expect_long(value_of(fd), 12);
	expect_long(control(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	fake_fork(1, 2, 0); /* the slot's next task is another one */
	run(2, 5);
	expect_long(value_of(fd), 12);
	expect_long(fake_open(&attr, 1002, -1, (s32)fd, 0), -ENODEV);
	control(fd, PERF_EVENT_IOC_RESET, 0);
	expect_long(value_of(fd), 0);
	fake_exit(2);
	expect_empty();
}

/* A killed task leaves its cells; its clock is gone, and what was read of it stays. */
static void test_killed_task(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0), clock = attr_of(PERF_TYPE_SOFTWARE, 0);
	long fd, time;

	fake_session();
	fake_fork(1, 2, 0);
	run(2, 50);
	fd = fake_open(&attr, 1002, -1, -1, 0);
	time = fake_open(&clock, 1002, -1, -1, 0);
	run(2, 12);
	expect_long(value_of(time), 12);
	run(2, 8);
	fake[2].clock = 0;
	expect_long(value_of(fd), 20);
	expect_long(value_of(time), 12);
	event_task_exit(2);
	expect_long(value_of(fd), 20);
	expect_long(value_of(time), 12);
	expect_empty();
}

/* Closing the parent event ends its children. */
static void test_parent_closed(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long fd;

	fake_session();
	fd = open_inherited(&attr, -1);
	open_inherited(&attr, (s32)fd);
	fake_fork(1, 2, CLONE_FILES);
	expect_long(event_count(), 4);
	event_files_close(1, (u64)fd);
	expect_long(event_count(), 2);
	run(2, 3);
	expect_long(value_of(fd + 1), 3);
	event_files_close(1, (u64)fd + 1);
	expect_long(event_count(), 0);
	expect_long(fake[2].want, 0);
	fake_exit(2);
	expect_empty();
}

static void test_fork_undone(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long fd;

	fake_session();
	fd = open_inherited(&attr, -1);
	fake_fork(1, 2, 0);
	event_task_exit(2);
	expect_long(event_count(), 1);
	expect_long(value_of(fd), 0);
	expect_empty();
}

#define SLOTS 1000

/* A fork that finds no slots for its events fails and leaves nothing. */
static void test_slots_exhausted(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	struct event_request rq;
	u32 before;

	fake_session();
	event_space->limits.slots = SLOTS;
	attr.inherit = 1;
	expect_long(event_open_begin((gva)&attr, 0, -1, -1, 0, &rq), 0);
	for (u64 fd = 3; fd < 3 + SLOTS / 3 + 10; fd++)
		if (event_open_commit(&rq, fd, fd))
			abort();
	expect_long(fake_fork(1, 2, CLONE_FILES), 0);
	before = event_count();
	expect_long(fake_fork(1, 3, CLONE_FILES), -ENOMEM);
	expect_long(event_count(), before);
	expect_long(fake[3].want, 0);
	fake_exit(2);
	expect_empty();
}

int main(void)
{
	test_sum();
	test_only_new();
	test_family_control();
	test_state_follows();
	test_group();
	test_inherit_thread();
	test_exec();
	test_exec_per_cpu();
	test_exec_in_child();
	test_exited_task();
	test_killed_task();
	test_parent_closed();
	test_fork_undone();
	test_slots_exhausted();
	return unit_result();
}
