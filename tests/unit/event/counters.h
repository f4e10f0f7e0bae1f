/*
 * What the tests of limited counters share. An event of cell 0 counts one for each ns that its task runs: so its count
 * is time_running, to the unit. Included once by each test program.
 */
#ifndef TESTS_UNIT_EVENT_COUNTERS_H
#define TESTS_UNIT_EVENT_COUNTERS_H

#include "event/counters.h"
#include "event/overflow.h"
#include "tests/unit/event/fake.h"

#define MS 1000000ul
#define INTERVAL (4 * MS)
#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static inline void session_with(u32 counters)
{
	fake_session();
	event_space->counters = event_space->counters_scarce = counters;
}

/* The task runs for so long, interrupted as its timer says. */
static inline void go(task_id task, u64 ns)
{
	struct overflow_result result = {0};
	struct snapshot snap = {.task = task};
	u64 step;

	fake_current = task;
	event_task_moved(task);
	event_ctx(task)->rearm = 1;
	while (ns) {
		if (event_ctx(task)->rearm)
			event_arm(task);
		step = MIN(ns, fake_clock_limit);
		run(task, step);
		ns -= step;
		if (step < fake_clock_limit)
			continue;
		counters_rotate(task);
		event_overflow(task, &snap, &result);
	}
	fake_current = 1;
}

static inline struct perf_attr counting(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);

	attr.read_format = TIMES;
	return attr;
}

static inline long open_one(struct perf_attr attr, s32 group_fd)
{
	return fake_open(&attr, 0, -1, group_fd, 0);
}

static inline void expect_times(long fd, u64 enabled, u64 running)
{
	u64 v[3] = {0, 0, 0};

	expect_long(event_read(fake_current, (u64)fd, v, sizeof(v)), sizeof(v));
	expect_long(v[1], enabled);
	expect_long(v[2], running);
	expect_long(v[0], running);
}

#endif
