/* Events of cgroups: which tasks they count, where and when; their times; what is refused. */
#include "event/cgroup.h"
#include "tests/unit/event/counters.h"

#define FD_OF(n) (100 + (n)) /* of fake_cgroups[] */
enum { ROOT, A, A_B, B, GONE };

static struct cgroup_path path_of(const char *path)
{
	struct cgroup_path p;

	cgroup_path_of(path, &p);
	return p;
}

static void put(task_id task, const char *path)
{
	struct cgroup_path p = path_of(path);

	expect(event_cgroup_moved(task, event_ctx(task)->generation, event_ctx(task)->cgroup_moves, &p));
}

static long open_cgroup(struct perf_attr attr, int which, s32 cpu, long group)
{
	return fake_open(&attr, FD_OF(which), cpu, (s32)group, PERF_FLAG_PID_CGROUP);
}

/* Three tasks: 1 in the root, 2 in /a, 3 in /a/b. */
static void session_of_three(void)
{
	fake_session();
	put(1, "/");
	expect_long(fake_fork(1, 2, 0), 0);
	put(2, "/a");
	expect_long(fake_fork(1, 3, 0), 0);
	put(3, "/a/b");
}

static void run_all(u64 ns)
{
	for (task_id task = 1; task < 4; task++)
		go(task, ns);
}

static void test_paths(void)
{
	char deep[2 * CGROUP_LEVELS + 3] = "";
	struct cgroup_path p;

	expect_long(path_of("/").levels, 0);
	expect_long(path_of("/a/b").levels, 2);
	expect(path_of("/a/b").at[1] == path_of("/a").at[1]);
	expect(path_of("/a/b").at[2] != path_of("/a/c").at[2]);
	expect(path_of("/a").at[1] != path_of("/aa").at[1]);
	expect(path_of("/a/a").at[2] != path_of("/a").at[1]);
	for (int i = 0; i < CGROUP_LEVELS; i++)
		strcat(deep, "/x");
	expect(cgroup_path_of(deep, &p));
	strcat(deep, "/x");
	expect(!cgroup_path_of(deep, &p));
	expect_long(p.levels, CGROUP_LEVELS);
}

static void test_hierarchy(void)
{
	long root, a, ab, b;

	session_of_three();
	root = open_cgroup(counting(), ROOT, 0, -1);
	a = open_cgroup(counting(), A, 0, -1);
	ab = open_cgroup(counting(), A_B, 0, -1);
	b = open_cgroup(counting(), B, 0, -1);
	run_all(MS);
	expect_times(root, 3 * MS, 3 * MS);
	expect_times(a, 2 * MS, 2 * MS);
	expect_times(ab, MS, MS);
	expect_times(b, 0, 0);
	fake_exit(3);
	expect_times(ab, MS, MS);
	expect_empty();
}

static void test_moves(void)
{
	long a, b;

	session_of_three();
	a = open_cgroup(counting(), A, 0, -1);
	b = open_cgroup(counting(), B, 0, -1);
	go(2, MS);
	put(2, "/b");
	go(2, 2 * MS);
	put(2, "/a/b");
	go(2, 4 * MS);
	expect_times(a, 5 * MS, 5 * MS);
	expect_times(b, 2 * MS, 2 * MS);
	fake[2].cpu = 1;
	go(2, MS);
	expect_times(a, 5 * MS, 5 * MS);
	put(2, "/b"); /* while it is elsewhere */
	fake[2].cpu = 0;
	go(2, MS);
	expect_times(a, 5 * MS, 5 * MS);
	expect_times(b, 3 * MS, 3 * MS);
	fake_fork(2, 4, 0); /* where its parent is */
	go(4, MS);
	expect_times(b, 4 * MS, 4 * MS);
	expect_long(fake[4].want, 1);
	put(4, "/");
	expect_long(fake[4].want, 0);
	expect_empty();
}

/* What was looked up before somebody told of a move is not believed; nor of a task that has ended. */
static void test_old_news(void)
{
	struct cgroup_path old = path_of("/a"), new = path_of("/b");
	u32 generation, looked;
	long a, b;

	session_of_three();
	a = open_cgroup(counting(), A, 0, -1);
	b = open_cgroup(counting(), B, 0, -1);
	generation = event_ctx(1)->generation;
	looked = event_ctx(1)->cgroup_moves;
	expect(event_cgroup_moved(1, generation, looked, &new));
	expect(!event_cgroup_moved(1, generation, looked, &old));
	expect(event_cgroup_moved(1, generation + 1, looked + 1, &old));
	go(1, MS);
	expect_times(a, 0, 0);
	expect_times(b, MS, MS);
	expect_empty();
}

static void test_control(void)
{
	struct perf_attr off = counting();
	long a;

	session_of_three();
	off.disabled = 1;
	a = open_cgroup(off, A, 0, -1);
	run_all(MS);
	expect_times(a, 0, 0);
	control(a, PERF_EVENT_IOC_ENABLE, 0);
	run_all(MS);
	expect_times(a, 2 * MS, 2 * MS);
	control(a, PERF_EVENT_IOC_DISABLE, 0);
	put(1, "/a");
	run_all(MS);
	expect_times(a, 2 * MS, 2 * MS);
	control(a, PERF_EVENT_IOC_ENABLE, 0);
	run_all(MS);
	expect_times(a, 5 * MS, 5 * MS);
	expect_empty();
}

/* A clock is the tasks' CPU time there, not the CPU's. */
static void test_clock(void)
{
	struct perf_attr clock = attr_of(PERF_TYPE_SOFTWARE, 0);
	long a;

	session_of_three();
	clock.read_format = TIMES;
	a = open_cgroup(clock, A, 0, -1);
	run_all(MS);
	expect_times(a, 2 * MS, 2 * MS);
	expect_empty();
}

static void test_groups(void)
{
	struct perf_attr clock = attr_of(PERF_TYPE_SOFTWARE, 0);
	long leader, member, plain;

	session_of_three();
	clock.read_format = TIMES;
	leader = open_cgroup(counting(), A, 0, -1);
	expect_long(open_cgroup(counting(), B, 0, leader), -EINVAL);
	member = open_cgroup(counting(), A, 0, leader);
	plain = fake_open(&clock, -1, 0, (s32)leader, 0);
	run_all(MS);
	expect_times(member, 2 * MS, 2 * MS);
	expect_times(plain, 2 * MS, 2 * MS);
	control(leader, PERF_EVENT_IOC_DISABLE, 0);
	run_all(MS);
	expect_times(member, 2 * MS, 2 * MS);
	plain = fake_open(&clock, -1, 0, -1, 0);
	expect_long(open_cgroup(clock, A, 0, plain), -EINVAL);
	expect_empty();
}

static void test_refused(void)
{
	struct perf_attr attr = counting(), unknown = attr_of(99, 0);

	fake_session();
	expect_long(fake_open(&attr, FD_OF(A), -1, -1, PERF_FLAG_PID_CGROUP), -EINVAL);
	expect_long(fake_open(&attr, -1, 0, -1, PERF_FLAG_PID_CGROUP), -EINVAL);
	expect_long(fake_open(&attr, 5, 0, -1, PERF_FLAG_PID_CGROUP), -EBADF);
	expect_long(open_cgroup(attr, GONE, 0, -1), -ENOENT);
	expect_long(open_cgroup(unknown, GONE, 0, -1), -ENOENT);
	expect_long(open_cgroup(attr, A, FAKE_CPUS, -1), -EINVAL);
	fake_capable = false;
	expect_long(open_cgroup(attr, A, 0, -1), -EACCES);
	fake_capable = true;
	expect_empty();
}

/* With one counter: the tasks of a cgroup have it for that one's events; each CPU's list rotates. */
static void test_counters(void)
{
	struct perf_attr attr = counting();
	long a[2], all;

	session_of_three();
	fake_mono = 1000 * INTERVAL;
	event_space->counters = event_space->counters_scarce = 1;
	a[0] = open_cgroup(counting(), A, 0, -1);
	a[1] = open_cgroup(counting(), A, 0, -1);
	go(2, INTERVAL);
	expect_times(a[0], INTERVAL, INTERVAL);
	go(2, INTERVAL);
	for (int i = 0; i < 2; i++)
		expect_times(a[i], 2 * INTERVAL, INTERVAL);
	event_files_close(1, (u64)a[1]);
	go(2, MS);
	all = fake_open(&attr, -1, 0, -1, 0);
	go(1, MS); /* has it to itself */
	go(2, MS); /* keeps it from the event of all tasks */
	expect_times(all, 2 * MS, MS);
	control(a[0], PERF_EVENT_IOC_DISABLE, 0); /* places the CPU's groups, by its own clock */
	control(a[0], PERF_EVENT_IOC_ENABLE, 0);
	go(1, MS);
	expect_times(all, 3 * MS, 2 * MS);
	expect_times(a[0], 2 * INTERVAL + 2 * MS, INTERVAL + 2 * MS);
	expect_empty();
}

/* An event in error is not enabled, for no task of the cgroup. */
static void test_pinned(void)
{
	struct perf_attr pinned = counting();
	long a[2];

	session_of_three();
	event_space->counters = event_space->counters_scarce = 1;
	pinned.pinned = 1;
	for (int i = 0; i < 2; i++)
		a[i] = open_cgroup(pinned, A, 0, -1);
	run_all(MS);
	expect_times(a[0], 2 * MS, 2 * MS);
	expect_long(event_slot(event_files_lookup(1, (u64)a[1]))->tally.state, PERF_STATE_ERROR);
	control(a[0], PERF_EVENT_IOC_DISABLE, 0);
	run_all(MS);
	control(a[1], PERF_EVENT_IOC_ENABLE, 0);
	run_all(MS);
	expect_times(a[1], 2 * MS, 2 * MS);
	expect_empty();
}

int main(void)
{
	test_paths();
	test_hierarchy();
	test_moves();
	test_old_news();
	test_control();
	test_clock();
	test_groups();
	test_refused();
	test_counters();
	test_pinned();
	return unit_result();
}
