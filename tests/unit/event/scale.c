/*
 * 256 CPUs and 1,000 threads: what an event costs when a task begins, moves and ends, and how many slots it takes.
 * Instructions are counted by single-stepping a child process through each operation, with few and with many threads
 * there.
 *
 * Skipped where ptrace is not permitted.
 */
#define FAKE_TASKS 1100
#define FAKE_CPUS 257
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "event/map.h"
#include "event/watch.h"
#include "tests/unit/event/fake.h"

#define CPUS 256
#define EVERYWHERE 4 /* events that are bound to no CPU */
#define FEW 10
#define MANY 1000
#define THREAD (CLONE_VM | CLONE_FILES | CLONE_THREAD)
#define NEXT (FAKE_TASKS - 1) /* the task that the operations are about */

static long everywhere[EVERYWHERE], on[CPUS];

/* As perf record opens them, and perf stat. */
static void open_all(bool all_tasks)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		attr.inherit = !all_tasks;
		on[cpu] = fake_open(&attr, all_tasks ? -1 : 0, (s32)cpu, -1, 0);
	}
	for (u32 i = 0; i < EVERYWHERE; i++) {
		attr.inherit = 1;
		attr.config = i % FAKE_CELLS;
		attr.sample_period = i & 1 ? 1000 : 0;
		attr.comm = i & 1;
		everywhere[i] = fake_open(&attr, 0, -1, -1, 0);
	}
}

static int start(task_id task)
{
	fake[1].cpu = task % CPUS;
	return fake_fork(1, task, THREAD);
}

static void start_up_to(u32 from, u32 to)
{
	for (task_id task = from; task <= to; task++)
		expect_long(start(task), 0);
	fake[1].cpu = 0;
}

static u64 value_with_time(long fd, u64 *enabled)
{
	u64 v[2];

	expect_long(event_read(1, (u64)fd, v, sizeof(v)), sizeof(v));
	*enabled = v[1];
	return v[0];
}

static void test_counts(bool all_tasks)
{
	u64 sum = 0, enabled, threads = MANY - 1;

	fake_session();
	open_all(all_tasks);
	start_up_to(2, MANY);
	expect_long(event_count(), CPUS + EVERYWHERE + threads * (EVERYWHERE + 1) + all_tasks);
	for (task_id task = 2; task <= MANY; task++)
		run(task, 100);
	for (task_id task = 2; task <= MANY; task++) {
		fake[task].cpu = (task + 1) % CPUS;
		event_task_moved(task);
		run(task, 10);
	}
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		sum += value_with_time(on[cpu], &enabled);
		expect(all_tasks || enabled == threads * 110);
	}
	expect_long(sum, threads * 110);
	expect_long(value_with_time(everywhere[0], &enabled), threads * 110);
	for (task_id task = 2; task <= MANY; task++)
		fake_exit(task);
	expect_valid("without the threads");
	expect_long(event_count(), CPUS + EVERYWHERE + all_tasks);
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		sum -= value_with_time(on[cpu], &enabled);
		expect(all_tasks || enabled == threads * 110);
	}
	expect_long(sum, 0);
	expect_empty();
}

/* ---- what it costs ---- */

static void op_nothing(void)
{
}

static void op_start(void)
{
	fake[1].cpu = 7;
	fake_fork(1, NEXT, THREAD);
}

static void op_move(void)
{
	fake[2].cpu = 100;
	event_task_moved(2);
}

static void op_exit(void)
{
	event_task_exit(3);
}

static void op_process(void)
{
	fake_fork(1, NEXT, 0);
	event_task_exit(NEXT);
}

static void op_open(void)
{
	event_files_close(1, (u64)open_simple(PERF_TYPE_RAW, 0, -1));
}

static void op_map(void)
{
	struct event_map_request rq = {.len = 2 * PAGE_SIZE, .prot = 3, .flags = 1};

	expect_long(event_map_begin(1, (u64)on[CPUS - 1], &rq), 0);
	event_map_undo(&rq);
}

static void op_watch(void)
{
	event_watch_put(event_watch_get(1, 1000, (s32)on[5]), false);
}

/* Instructions, and some for the process itself; 0: ptrace is not permitted. */
static u32 steps_of(void (*operation)(void))
{
	pid_t child = fork();
	u32 steps = 0;
	int status;

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		operation();
		_exit(0);
	}
	waitpid(child, &status, 0);
	while (WIFSTOPPED(status)) {
		if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) || waitpid(child, &status, 0) < 0)
			return 0;
		steps++;
	}
	return steps;
}

static const struct {
	const char *name;
	void (*operation)(void);
	u32 each; /* instructions that it may take for each thread */
} ops[] = {
	{"a thread begins", op_start, 0},
	{"a thread moves", op_move, 0},
	{"a thread ends", op_exit, 0},
	{"a process", op_process, 0},
	{"an event", op_open, 0},
	{"a mapping", op_map, 4}, /* adds up what its user has locked, ring by ring */
	{"a registration", op_watch, 0},
};

/* In a world that is thrown away after each: the child's changes are to shared memory. */
static u32 measure(u32 op, u32 threads)
{
	u32 bare;

	fake_session();
	open_all(false);
	start_up_to(2, threads);
	for (u32 i = 0; i < threads; i++) { /* with a mapping and a registration for each */
		struct event_map_request rq = {
			.len = 2 * PAGE_SIZE, .prot = 3, .flags = 1, .addr = 0x10000 + i * 0x10000};

		expect_long(event_map_begin(1, (u64)on[i % (CPUS - 1)], &rq), 0);
		event_map_commit(&rq);
		expect(event_watch_get(1, (s32)(2000 + i), (s32)on[i % CPUS]) != 0);
	}
	bare = steps_of(op_nothing);
	return bare ? steps_of(ops[op].operation) - bare : 0;
}

static bool __attribute__((unused)) test_costs(void)
{
	for (u32 op = 0; op < ARRAY_SIZE(ops); op++) {
		u32 few = measure(op, FEW), many = few ? measure(op, MANY) : 0;

		if (!few)
			return false;
		printf("%s: %u instructions with %u threads, %u with %u\n", ops[op].name, few, FEW, many, MANY);
		expect(many < few + few / 4 + 100 + ops[op].each * (MANY - FEW));
	}
	return true;
}

int main(void)
{
	bool permitted = true;

	test_counts(false);
	test_counts(true);
#ifndef PCL_DEBUG /* there the lock checks everything */
	permitted = test_costs();
#endif
	if (!permitted) {
		fprintf(stderr, "ptrace is not permitted\n");
		return 77;
	}
	return unit_result();
}
