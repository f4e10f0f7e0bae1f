/* Random calls while counters are limited: what holds whatever is called. A failure prints its seed. */
#include "tests/unit/event/counters.h"
#include "tests/unit/event/random_calls.h"

#define TASKS 3
#define RANDOM_FDS 12

static void open_random(long *fd, long leader)
{
	struct perf_attr attr = counting();
	s32 cpu = pick(4) ? -1 : (s32)pick(2);

	attr.inherit = 1;
	attr.disabled = !pick(4);
	attr.pinned = !pick(6);
	attr.exclusive = !pick(8);
	attr.sample_period = pick(4) ? 0 : 100000 + pick(5000000);
	if (cpu >= 0 && pick(2))
		*fd = fake_open(&attr, 100 + (s32)pick(4), cpu, pick(4) ? -1 : (s32)leader, PERF_FLAG_PID_CGROUP);
	else
		*fd = fake_open(&attr, cpu < 0 || pick(2) ? 0 : -1, cpu, pick(2) ? (s32)leader : -1, 0);
	expect(*fd >= 0 || *fd == -EINVAL || *fd == -EBADF);
	if (*fd < 0)
		*fd = -1;
}

/* What holds whatever is called: a count is the time that was running, which is no more than was enabled. */
static void check_one(long fd)
{
	struct event *e;
	u64 v[3];

	if (fd < 0 || event_read(1, (u64)fd, v, sizeof(v)) != sizeof(v))
		return;
	expect(v[2] <= v[1]);
	e = event_slot(event_files_lookup(1, (u64)fd));
	expect((!e->task && !e->cgroup.at) || v[0] == v[2]);
}

static void random_step(long *fd)
{
	static const u32 cmds[] = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE};
	task_id task = 1 + pick(TASKS);
	long *one = &fd[pick(RANDOM_FDS)];
	struct cgroup_path path;

	switch (pick(9)) {
	case 0:
	case 1:
		if (*one < 0)
			open_random(one, fd[pick(RANDOM_FDS)]);
		break;
	case 2:
		if (*one >= 0)
			event_files_close(1, (u64)*one);
		*one = -1;
		break;
	case 3:
		if (*one >= 0)
			expect_long(control(*one, cmds[pick(2)], pick(2)), 0);
		break;
	case 4:
		if (task > 1 && fake[task].alive)
			fake_exit(task);
		else if (task > 1)
			expect_long(fake_fork(1, task, CLONE_FILES), 0);
		break;
	case 5:
		cgroup_path_of(fake_cgroups[pick(4)], &path);
		event_cgroup_moved(task, event_ctx(task)->generation, event_ctx(task)->cgroup_moves, &path);
		break;
	default:
		fake[task].cpu = pick(2);
		if (fake[task].alive)
			go(task, 1 + pick(6 * MS));
	}
}

static void session(void)
{
	int before = unit_failures;
	long fd[RANDOM_FDS];

	session_with(1 + pick(4));
	fake_mono = 1000 * INTERVAL; /* unlike the tasks' clocks */
	memset(fd, 0xff, sizeof(fd));
	for (u32 i = 0; i < 400 && unit_failures == before; i++) {
		random_step(fd);
		for (u32 k = 0; k < RANDOM_FDS; k++)
			check_one(fd[k]);
		expect_valid("random calls");
	}
	end_tasks(TASKS);
	expect_empty();
}

int main(int argc, char **argv)
{
	return run_sessions(argc, argv, session, 60);
}
