/*
 * A member dies, or is stopped for good, at any instruction of any operation: a child process is single-stepped through
 * it, and after each step a copy of the session's memory, as the child leaves it, is taken over and checked: what the
 * child was doing has happened as a whole or not at all.
 *
 * Skipped where ptrace is not permitted, and with sanitizers, which take the place of the notes (tools/build.mk).
 */
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "event/counters.h"
#include "event/map.h"
#include "event/ring.h"
#include "event/overflow.h"
#include "tests/unit/event/sections.h"
#include "tests/unit/event/fake.h"

#define STEPS_MAX 2000000
#ifdef PCL_DEBUG
#define STRIDE 61 /* the lock's own validation makes many more steps */
#else
#define STRIDE 1
#endif

static struct event_space *world; /* what the child works on, */
static struct event_space *copy;  /* what is taken over, */
static char *journals, *journals_copy; /* the same of number 1, the child's; ours is number 2 */
static char *rings_world, *rings_copy;

static void copy_journal(void)
{
	struct journal *to = (struct journal *)(journals_copy + LAYOUT_JOURNAL_SIZE),
		       *from = (struct journal *)(journals + LAYOUT_JOURNAL_SIZE);

	memcpy(to, from, offsetof(struct journal, note));
	memcpy(to->after, from->after, from->afters * sizeof(from->after[0]));
	memcpy(to->note, from->note, from->notes * sizeof(from->note[0]));
	memcpy(rings_copy, rings_world, 8 * PAGE_SIZE);
}

/* The parts of the space that these tests use. */
static void copy_world(void)
{
	size_t head = offsetof(struct event_space, ctx) + 8 * sizeof(struct event_ctx);

	memcpy(copy, world, head);
	memcpy(copy->event, world->event, 40 * sizeof(struct event));
	memcpy(copy->lineage, world->lineage, 4 * sizeof(struct event_lineage));
	memcpy(copy->ring, world->ring, 4 * sizeof(struct ring));
	memcpy(copy->map, world->map, 4 * sizeof(struct event_map));
	memcpy(copy->mm, world->mm, sizeof(world->mm));
	memcpy(copy->files, world->files, 8 * sizeof(struct event_files));
	for (u32 i = 0; i < 8; i++)
		memcpy(&copy->fds[i], &world->fds[i], 64 * sizeof(u32));
	copy_journal();
}

/* What every survivor must find, whatever the dead was doing. Set by the test. */
static void (*expect_after)(void);

/* The counts that the other member's event must show: it was never touched. */
/* The child, which is stopped at an instruction, will never get to the next one in the copy. */
static enum section_fence is_dead(u32 number)
{
	return FENCE_DEAD;
}

static const char *taken_over(void)
{
	copy_world();
	event_space = copy;
	fake_rings = rings_copy;
	section_host.journals = journals_copy;
	section_host.noted = (char *)copy;
	section_host.fence = is_dead;
	sections_use(2);
	section_settle(1);
	event_lock();
	event_unlock();
	return event_validate();
}

static void back_to_the_world(void)
{
	event_space = world;
	fake_rings = rings_world;
	section_host.journals = journals;
	section_host.noted = (char *)world;
	sections_use(1);
}

static bool step_through(const char *name, void (*operation)(void))
{
	int status, failures_before = unit_failures;
	pid_t child = fork();
	u32 steps = 0;

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		operation();
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (!WIFSTOPPED(status))
		return false;
	while (steps++ < STEPS_MAX) {
		const char *why;
		bool in_section;

		if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) || waitpid(child, &status, 0) < 0)
			return false;
		if (!WIFSTOPPED(status))
			break;
		in_section = section_journal(1)->state & SECTION_BUSY;
		if (steps % STRIDE || (!in_section && steps % 16)) /* nothing is half done outside of sections */
			continue;
		why = taken_over();
		if (!why && expect_after)
			expect_after();
		if (why) {
			fprintf(stderr, "%s, step %u: %s\n", name, steps, why);
			unit_failures++;
		}
		unit_checks++;
		back_to_the_world();
		if (unit_failures > failures_before + 5)
			break;
	}
	if (WIFSTOPPED(status))
		kill(child, SIGKILL), waitpid(child, &status, 0);
	else
		expect_long(status, 0);
	expect(steps > 100);
	return true;
}

/* Task 1 watches (slot 1, inherited by task 2 with 30 counted); task 2 does things and dies. */
static long watched, group[2];
static long bound[2]; /* on CPU 0 and 1; the tasks are on CPU 0 */

static long open_sampling(u64 period)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);

	attr.sample_period = period;
	return fake_open(&attr, 0, -1, -1, 0);
}

static void map_event(long fd, gva addr)
{
	struct event_map_request rq = {.len = 2 * PAGE_SIZE, .prot = 1, .flags = 1};

	expect_long(event_map_begin(fake_current, (u64)fd, &rq), 0);
	rq.addr = addr;
	event_map_commit(&rq);
}

static void setup(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);

	sections_before(journals);
	fake_session();
	sections_begin();
	world = event_space;
	rings_world = fake_rings;
	attr.inherit = 1;
	watched = fake_open(&attr, 0, -1, -1, 0);
	for (s32 cpu = 0; cpu < 2; cpu++)
		bound[cpu] = fake_open(&attr, 0, cpu, -1, 0);
	run(1, 100);
	fake_fork(1, 2, 0);
	fake_fork(1, 3, CLONE_FILES);
	run(2, 30);
	run(3, 3);
	fake_current = 2;
	group[0] = open_sampling(3);
	group[1] = open_simple(PERF_TYPE_RAW, 1, (s32)group[0]);
	map_event(group[0], 0x10000);
	run(2, 8);
}

/* 100 of task 1, 38 of task 2, 3 of task 3, whether or not those have been folded. */
static void expect_watched(void)
{
	struct event_total total;
	u32 nr = *event_fd_entry(event_ctx(1)->files, (u64)watched);

	expect(nr);
	event_lock();
	event_read_total(event_slot(nr), false, &total);
	expect_long(total.count, 141);
	for (u32 cpu = 0; cpu < 2; cpu++) {
		event_read_total(event_slot(*event_fd_entry(event_ctx(1)->files, (u64)bound[cpu])), true, &total);
		expect_long(total.count, cpu ? 0 : 141);
		expect_long(total.enabled, 141);
	}
	event_unlock();
}

static void op_open(void)
{
	open_simple(PERF_TYPE_RAW, 2, (s32)group[0]);
}

static void op_close_leader(void)
{
	event_files_close(2, (u64)group[0]);
}

static void op_disable_group(void)
{
	control(group[1], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}

static void op_reset_group(void)
{
	control(group[1], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
}

static void op_switch(void)
{
	event_switch_owned(2, false);
	event_switch_owned(2, true);
}

static void op_fork(void)
{
	fake_fork(2, 4, 0);
}

static void op_exit(void)
{
	event_task_exit(2);
}

/* To a CPU that the task has not seen. */
static void op_move(void)
{
	fake[2].cpu = 1;
	event_task_moved(2);
}

static void op_toggle_bound(void)
{
	control(bound[1], PERF_EVENT_IOC_DISABLE, 0);
	control(bound[1], PERF_EVENT_IOC_ENABLE, 0);
}

static void op_exit_thread(void)
{
	event_task_exit(3);
}

static void op_dup(void)
{
	event_files_dup(2, (u64)group[0], 20);
	event_files_dup(2, 0, (u64)group[0]);
}

static void op_unshare(void)
{
	event_files_unshare(3);
}

static void op_period(void)
{
	u64 value = 5;

	control(group[0], PERF_EVENT_IOC_PERIOD, (gva)&value);
}

static void op_refresh(void)
{
	control(group[0], PERF_EVENT_IOC_REFRESH, 2);
}

/* The last one that REFRESH allows. */
static void op_overflow(void)
{
	struct snapshot snap = {.task = 2};
	struct overflow_result result;

	control(group[0], PERF_EVENT_IOC_REFRESH, 1);
	event_arm(2);
	event_overflow(2, &snap, &result);
}

static void op_map(void)
{
	map_event(group[1], 0x20000);
}

static void op_unmap(void)
{
	expect(event_map_any(2, 0x10000, 0x12000));
	event_map_remove_begin(2, 0x10000, 0x12000);
	event_map_remove_end(2, 0x10000, 0x12000, true);
}

static void op_redirect(void)
{
	control(group[1], PERF_EVENT_IOC_SET_OUTPUT, (u64)group[0]);
	control(group[1], PERF_EVENT_IOC_SET_OUTPUT, ~0ul);
}

static void op_record(void)
{
	struct ring_out o;

	event_lock();
	for (u32 i = 0; i < 3; i++) {
		if (!ring_begin(&o, event_slot(event_files_lookup(2, (u64)group[0])), 16))
			continue;
		ring_u64(&o, 100 | 16ul << 48);
		ring_u64(&o, i);
		ring_end(&o, POLL_IN);
	}
	event_unlock();
}

static void op_exec(void)
{
	event_task_exec(2);
}

/* It makes all others wait, and then room for them. */
static void op_rotate(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);

	attr.exclusive = 1;
	fake_open(&attr, 0, -1, -1, 0);
	fake[2].clock += 5000000;
	counters_rotate(2);
}

static void op_cgroup(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	struct cgroup_path path;

	fake_open(&attr, 101, 0, -1, PERF_FLAG_PID_CGROUP);
	cgroup_path_of("/a", &path);
	event_cgroup_moved(2, event_ctx(2)->generation, event_ctx(2)->cgroup_moves, &path);
}

static void op_close_watched(void)
{
	event_files_close(3, (u64)watched);
}

/* The compiler calls the notes. */
static bool has_notes(void)
{
#ifdef PCL_NO_NOTES
	return false;
#else
	return true;
#endif
}

/* A step costs a third when tracer and child share a processor. */
static void stay_on_one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*operation)(void);
		void (*after)(void);
	} ops[] = {
		{"open", op_open, expect_watched},	     {"close a leader", op_close_leader, expect_watched},
		{"disable", op_disable_group, expect_watched}, {"reset", op_reset_group, expect_watched},
		{"prctl", op_switch, expect_watched},	     {"fork", op_fork, expect_watched},
		{"exit", op_exit, expect_watched},	     {"exit of a thread", op_exit_thread, expect_watched},
		{"dup", op_dup, expect_watched},	     {"unshare", op_unshare, expect_watched},
		{"period", op_period, expect_watched},	     {"refresh", op_refresh, expect_watched},
		{"overflow", op_overflow, expect_watched},
		{"mmap", op_map, expect_watched},	     {"munmap", op_unmap, expect_watched},
		{"SET_OUTPUT", op_redirect, expect_watched}, {"a record", op_record, expect_watched},
		{"exec", op_exec, expect_watched},
		{"move", op_move, expect_watched},	     {"toggle", op_toggle_bound, expect_watched},
		{"rotation", op_rotate, expect_watched},     {"cgroup", op_cgroup, expect_watched},
		{"close of an inherited event", op_close_watched, NULL},
	};

	if (!has_notes()) {
		fprintf(stderr, "built without notes\n");
		return 77;
	}
	stay_on_one_cpu();
	copy = fake_space_map();
	journals = sections_map_journals();
	journals_copy = sections_map_journals();
	rings_copy = fake_map(FAKE_RING_PAGES * PAGE_SIZE);
	for (u32 i = 0; i < ARRAY_SIZE(ops); i++) {
		setup();
		expect_after = ops[i].after;
		if (!step_through(ops[i].name, ops[i].operation)) {
			fprintf(stderr, "ptrace is not permitted\n");
			return 77;
		}
		back_to_the_world();
	}
	return unit_result();
}
