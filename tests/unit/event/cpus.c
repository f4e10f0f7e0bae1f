/* Events bound to a CPU: of one task, and of all tasks. */
#include "tests/unit/event/fake.h"

static void move(task_id task, u32 cpu)
{
	fake[task].cpu = cpu;
	event_task_moved(task);
}

/* Two events split what the task does; their sum is exact. */
static void test_task_on_cpu(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	u64 v[3];
	long on[2];

	fake_session();
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	on[0] = fake_open(&attr, 0, 0, -1, 0);
	on[1] = fake_open(&attr, 0, 1, -1, 0);
	run(1, 10);
	move(1, 1);
	run(1, 100);
	move(1, 0);
	run(1, 1);
	expect_long(value_of(on[0]), 11);
	expect_long(value_of(on[1]), 100);
	event_read(1, (u64)on[1], v, sizeof(v));
	expect_long(v[1], 111); /* enabled all the time, running on CPU 1 only */
	expect_long(v[2], 100);
	expect_empty();
	expect_long(event_ctx(1)->cpu_bound, 0);
}

static void test_all_tasks(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long on[2];

	fake_session();
	fake_fork(1, 2, 0);
	fake[2].cpu = 1;
	on[0] = fake_open(&attr, -1, 0, -1, 0);
	on[1] = fake_open(&attr, -1, 1, -1, 0);
	run(1, 10);
	run(2, 20);
	expect_long(value_of(on[0]), 10);
	expect_long(value_of(on[1]), 20);
	fake_fork(2, 3, 0);
	run(3, 5);
	fake_exit(3);
	fake_exit(2);
	expect_long(value_of(on[1]), 25);
	control(on[0], PERF_EVENT_IOC_DISABLE, 0);
	run(1, 10);
	expect_long(value_of(on[0]), 10);
	control(on[0], PERF_EVENT_IOC_ENABLE, 0);
	run(1, 10);
	expect_long(value_of(on[0]), 20);
	expect_empty();
	expect_long(fake[1].want, 0);
}

/* Children of per-CPU events have no groups; they follow the leader all the same. */
static void test_system_group(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	u64 v[4];
	long leader;

	fake_session();
	attr.read_format = PERF_FORMAT_GROUP;
	attr.disabled = 1;
	leader = fake_open(&attr, -1, 0, -1, 0);
	attr.disabled = 0;
	attr.config = 1;
	fake_open(&attr, -1, 0, (s32)leader, 0);
	move(1, 0);
	run(1, 10);
	event_read(1, (u64)leader, v, sizeof(v));
	expect_long(v[1] + v[2], 0);
	control(leader, PERF_EVENT_IOC_ENABLE, 0);
	run(1, 10);
	event_read(1, (u64)leader, v, sizeof(v));
	expect_long(v[1], 10);
	expect_long(v[2], 5);
	event_files_close(1, (u64)leader);
	run(1, 10);
	event_read(1, (u64)leader + 1, v, sizeof(v));
	expect_long(v[0], 1);
	expect_long(v[1], 10);
	expect_empty();
}

/* The clock of a per-CPU context is wall time. */
static void test_cpu_clock(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_SOFTWARE, 0);
	u64 v[2];
	long fd;

	fake_session();
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	fd = fake_open(&attr, -1, 0, -1, 0);
	fake_mono += 70;
	event_read(1, (u64)fd, v, sizeof(v));
	expect_long(v[0], 70);
	expect_long(v[1], 70);
	expect_long(event_count(), 1);
	expect_empty();
}

int main(void)
{
	test_task_on_cpu();
	test_all_tasks();
	test_system_group();
	test_cpu_clock();
	return unit_result();
}
