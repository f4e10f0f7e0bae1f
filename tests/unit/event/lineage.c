/*
 * Children that are made when their task is first on the CPU: nothing that can be read tells them from children that
 * are made at the fork. An event with attr.enable_on_exec has those, so pairs of events are compared that differ in
 * nothing else.
 */
#include <sys/epoll.h>
#include "event/map.h"
#include "event/ready.h"
#include "event/ring.h"
#include "event/sideband.h"
#include "tests/unit/event/random_calls.h"

#define TASKS 12
#define PAIRS 16
#define STEPS 3000

static struct pair {
	bool open;
	long fd[2]; /* later, at once */
	u32 leader; /* index, or its own */
	task_id of;
	s32 cpu;
	u32 of_generation;
} pair[PAIRS];

static void move(task_id task, u32 cpu)
{
	fake[task].cpu = cpu;
	event_task_moved(task);
}

static void do_run(void)
{
	task_id t = 1 + pick(TASKS);

	if (fake[t].alive)
		run(t, 1 + pick(1000));
}

static void do_move(void)
{
	task_id t = 1 + pick(TASKS);

	if (fake[t].alive)
		move(t, pick(2));
}

static struct pair *pick_open(void)
{
	struct pair *p = &pair[pick(PAIRS)];

	return p->open ? p : NULL;
}

static bool may_lead(const struct pair *p)
{
	return p->leader == (u32)(p - pair) && fake[p->of].alive && fake[p->of].generation == p->of_generation;
}

static void do_open(void)
{
	struct pair *p = &pair[pick(PAIRS)], *leader = pick(2) ? pick_open() : NULL;
	struct perf_attr a = attr_of(PERF_TYPE_RAW, pick(2));

	if (p->open)
		return;
	if (leader && !may_lead(leader))
		leader = NULL;
	*p = (struct pair){.open = true, .leader = (u32)((leader ? leader : p) - pair)};
	p->of = leader ? leader->of : 1 + pick(TASKS);
	p->cpu = leader ? leader->cpu : (s32)pick(3);
	p->of_generation = fake[p->of].generation;
	p->open = fake[p->of].alive;
	if (!p->open)
		return;
	a.inherit = 1;
	a.disabled = pick(2);
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	for (u32 i = 0; i < 2; i++) {
		a.enable_on_exec = i;
		p->fd[i] = fake_open(&a, (s32)p->of + 1000, p->cpu, leader ? (s32)leader->fd[i] : -1, 0);
		expect(p->fd[i] >= 0);
	}
}

static void do_close(void)
{
	struct pair *p = pick_open();

	if (!p)
		return;
	event_files_close(1, (u64)p->fd[0]);
	event_files_close(1, (u64)p->fd[1]);
	p->open = false;
	for (u32 i = 0; i < PAIRS; i++)
		if (pair[i].open && pair[i].leader == (u32)(p - pair))
			pair[i].leader = i;
}

static void do_control(void)
{
	static const u32 cmds[] = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET};
	struct pair *p = pick_open();
	u32 cmd = cmds[pick(3)], flags = pick(2) ? PERF_IOC_FLAG_GROUP : 0;

	for (u32 i = 0; p && i < 2; i++)
		expect_long(control(p->fd[i], cmd, flags), 0);
}

static void do_fork(void)
{
	task_id parent = 1 + pick(TASKS), child = 2 + pick(TASKS - 1);

	if (fake[parent].alive && !fake[child].alive)
		expect_long(fake_fork(parent, child, CLONE_FILES), 0);
}

static void do_exit(void)
{
	task_id t = 2 + pick(TASKS - 1);

	if (fake[t].alive)
		fake_exit(t);
}

static void check_pairs(void)
{
	for (u32 i = 0; i < PAIRS; i++) {
		u64 v[2][3];

		if (!pair[i].open)
			continue;
		for (u32 j = 0; j < 2; j++)
			expect_long(event_read(1, (u64)pair[i].fd[j], v[j], sizeof(v[j])), sizeof(v[j]));
		for (u32 j = 0; j < 3; j++)
			expect_long(v[0][j], v[1][j]);
	}
}

/* Events that are enabled and disabled and closed, in groups or not, while their tasks move, fork and end. */
static void random_session(void)
{
	static void (*const deeds[])(void) = {do_run, do_run, do_run, do_run, do_move, do_move, do_open,
					      do_open, do_close, do_control, do_fork, do_fork, do_exit};
	int before = unit_failures;

	memset(pair, 0, sizeof(pair));
	fake_session();
	for (u32 step = 0; step < STEPS && unit_failures == before; step++) {
		deeds[pick(ARRAY_SIZE(deeds))]();
		if (step % 4 == 0) {
			check_pairs();
			expect_valid("random calls");
		}
	}
	end_tasks(TASKS);
	check_pairs();
	expect_empty();
}

static long open_on(s32 pid, s32 cpu, struct perf_attr *attr)
{
	return fake_open(attr, pid, cpu, -1, 0);
}

/* As perf record opens them: a task takes a slot where it was, no more. */
static void test_slots(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long on[2];

	fake_session();
	attr.inherit = 1;
	for (u32 cpu = 0; cpu < 2; cpu++)
		on[cpu] = open_on(0, (s32)cpu, &attr);
	fake_fork(1, 2, 0);
	expect_long(event_count(), 3);
	run(2, 10);
	move(2, 1);
	expect_long(event_count(), 4);
	run(2, 5);
	fake_fork(2, 3, 0);
	expect_long(event_count(), 5);
	run(3, 1);
	expect_long(value_of(on[0]), 10);
	expect_long(value_of(on[1]), 6);
	fake_exit(2);
	fake_exit(3);
	expect_long(event_count(), 2);
	expect_long(value_of(on[1]), 6);
	expect_empty();
}

static void test_slots_of_all_tasks(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long on[2];

	fake_session();
	fake_fork(1, 2, 0);
	for (u32 cpu = 0; cpu < 2; cpu++)
		on[cpu] = open_on(-1, (s32)cpu, &attr);
	expect_long(event_count(), 4); /* both tasks are on CPU 0 */
	fake_fork(1, 3, 0);
	expect_long(event_count(), 5);
	move(3, 1);
	expect_long(event_count(), 6);
	run(3, 7);
	expect_long(value_of(on[0]) + value_of(on[1]), 7);
	event_files_close(1, (u64)on[1]);
	on[1] = open_on(-1, 1, &attr);
	run(3, 2);
	expect_long(value_of(on[1]), 2);
	fake_exit(2);
	fake_exit(3);
	expect_empty();
}

static long map_event(long fd)
{
	struct event_map_request rq = {.len = 5 * PAGE_SIZE, .prot = 3, .flags = 1};

	expect_long(event_map_begin(fake_current, (u64)fd, &rq), 0);
	rq.addr = 0x100000;
	event_map_commit(&rq);
	return rq.page;
}

/* Each event's end on a task is a record with attr.inherit_stat, whether or not the task was on its CPU. */
static void test_inherit_stat(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	const struct perf_event_header *h;
	long fd, page;

	fake_session();
	attr.inherit = attr.inherit_stat = 1;
	fd = open_on(0, 1, &attr);
	page = map_event(fd);
	fake_fork(1, 2, 0);
	expect_long(event_task_forked(2, fake[2].generation, NULL), 1);
	run(2, 10);
	fake_exit(2);
	h = host_ring_page((u32)page + 1);
	expect_long(h->type, PERF_RECORD_READ);
	expect_long(event_count(), 1);
	expect_long(value_of(fd), 0);
}

/* The sideband of an event is told of a task that came to its CPU just now. */
static void test_sideband(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	const struct perf_event_header *h;
	long fd, page;

	fake_session();
	attr.inherit = attr.comm = 1;
	fd = open_on(0, 1, &attr);
	page = map_event(fd);
	fake_fork(1, 2, 0);
	h = host_ring_page((u32)page + 1);
	expect_long(event_ctx(2)->sideband != 0, 1);
	fake_current = 2;
	sideband_comm(2, 2, "other", false);
	expect_long(h->type, 0);
	fake[2].cpu = 1;
	sideband_comm(2, 2, "here", false);
	expect_long(h->type, PERF_RECORD_COMM);
	fake_current = 1;
	fake_exit(2);
	expect_valid("after the record");
}

/* The event of an ended task is at its end when the last heir is. */
static void test_hup(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	struct event_awaited what;
	long fd;

	fake_session();
	fake_fork(1, 2, 0);
	attr.inherit = 1;
	fd = open_on(1002, 1, &attr);
	map_event(fd);
	fake_fork(2, 3, 0);
	fake_exit(2);
	expect_long(event_ready(1, (u64)fd), 0);
	expect_long(event_ready_by_end_of(1, (u64)fd), 0);
	event_wait_begin(1, (u64)fd, &what);
	fake_wakes.calls = 0;
	fake_exit(3);
	expect_long(fake_wakes.calls, 1);
	expect_long(event_ready(1, (u64)fd), EPOLLHUP);
}

/* What was read of a killed task's time stays. */
static void test_killed(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	u64 v[2];
	long fd;

	fake_session();
	attr.inherit = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	fd = open_on(0, 1, &attr);
	fake_fork(1, 2, 0);
	run(2, 30);
	event_read(1, (u64)fd, v, sizeof(v));
	expect_long(v[1], 30);
	fake[2].clock = 0;
	event_task_exit(2);
	event_read(1, (u64)fd, v, sizeof(v));
	expect_long(v[1], 30);
	expect_empty();
}

int main(int argc, char **argv)
{
	test_slots();
	test_slots_of_all_tasks();
	test_inherit_stat();
	test_sideband();
	test_hup();
	test_killed();
	return run_sessions(argc, argv, random_session, 40);
}
