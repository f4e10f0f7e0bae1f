/*
 * Events of cgroups (PERF_FLAG_PID_CGROUP): what is refused, and which tasks are counted while they move. In cgroups of
 * its own, which it makes where it may. Everything runs on CPU 0.
 * covers: PERF_FLAG_PID_CGROUP
 */
#include <linux/sched.h>
#include <sched.h>
#include <sys/stat.h>
#include "tests/abi/errno/perf.h"

#define MS 1000000ul

static const char *mount; /* of the unified hierarchy */
static char outer[128], inner[160], other[160];

static void spin(void)
{
	for (volatile int i = 0; i < 30000000; i++)
		;
}

static int directory(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static const char *file_in(const char *dir, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void move_to(const char *dir)
{
	int fd = open(file_in(dir, "cgroup.procs"), O_WRONLY);
	char text[16];

	snprintf(text, sizeof(text), "%d", getpid());
	expect(write(fd, text, strlen(text)), (long)strlen(text));
	close(fd);
}

static int make_cgroups(void)
{
	static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};

	for (int i = 0; i < 2 && !mount; i++) {
		snprintf(outer, sizeof(outer), "%s/pcl-test-%d", mounts[i], getpid());
		if (access(file_in(mounts[i], "cgroup.controllers"), F_OK) || mkdir(outer, 0755))
			continue;
		mount = mounts[i];
	}
	if (!mount)
		return 0;
	snprintf(inner, sizeof(inner), "%s/inner", outer);
	snprintf(other, sizeof(other), "%s/other", outer);
	return !mkdir(inner, 0755) && !mkdir(other, 0755);
}

static void remove_cgroups(void)
{
	expect(rmdir(inner), 0);
	expect(rmdir(other), 0);
	expect(rmdir(outer), 0);
}

static struct perf_attr counting(unsigned long config)
{
	struct perf_attr a = perf_attr_sw(config);

	a.read_format = PERF_TIMES;
	return a;
}

static long open_of(struct perf_attr a, const char *dir, long group)
{
	int fd = directory(dir);
	long event = perf_open(&a, fd, 0, (int)group, PERF_FLAG_PID_CGROUP);

	close(fd);
	return event;
}

static long try_of(int fd, int cpu)
{
	return perf_try(counting(PERF_COUNT_SW_CPU_CLOCK), fd, cpu, -1, PERF_FLAG_PID_CGROUP);
}

static void test_refused(void)
{
	struct perf_attr clock = counting(PERF_COUNT_SW_CPU_CLOCK), unknown = clock;
	int dir = directory(outer), path = open(outer, O_PATH), tmp = directory("/tmp"), gone;
	int file = open(file_in(outer, "cgroup.procs"), O_RDONLY);
	long leader;

	expect(try_of(dir, -1), -EINVAL);
	expect(try_of(-1, 0), -EINVAL);
	expect(try_of(dir, 0), 0);
	expect(try_of(dir, 9999), -EINVAL);
	expect(try_of(999, 0), -EBADF);
	expect(try_of(-2, 0), -EBADF);
	expect(try_of(path, 0), -EBADF);
	expect(try_of(tmp, 0), -EBADF);
	expect(try_of(file, 0), -EBADF);
	unknown.type = 99;
	expect(perf_try(unknown, 999, 0, -1, PERF_FLAG_PID_CGROUP), -ENOENT);
	clock.inherit = 1;
	expect(perf_try(clock, dir, 0, -1, PERF_FLAG_PID_CGROUP), 0);
	clock.inherit = 0;
	leader = open_of(clock, outer, -1);
	expect(open_of(clock, other, leader), -EINVAL);
	expect(perf_try(clock, dir, 0, (int)leader, PERF_FLAG_PID_CGROUP), 0);
	expect(perf_try(clock, -1, 0, (int)leader, 0), 0);
	close((int)leader);
	leader = perf_open(&clock, -1, 0, -1, 0);
	expect(perf_try(clock, dir, 0, (int)leader, PERF_FLAG_PID_CGROUP), -EINVAL);
	close((int)leader);
	gone = directory(other);
	rmdir(other);
	expect(try_of(gone, 0), -ENOENT);
	mkdir(other, 0755);
	close(gone);
	close(dir);
	close(path);
	close(tmp);
	close(file);
}

/* What has been added since the last call; a clock's count is its time. */
static unsigned long passed(long fd, struct perf_times *last)
{
	struct perf_times t = perf_times_of(fd);
	unsigned long ns = t.count - last->count;

	expect(t.running, t.enabled);
	expect(t.enabled - t.count < 5 * MS || t.count - t.enabled < 5 * MS, 1);
	*last = t;
	return ns;
}

/* The program itself, which is moved from one to the other. */
static void test_moves(void)
{
	struct perf_attr clock = counting(PERF_COUNT_SW_CPU_CLOCK);
	struct perf_times out = {0, 0, 0}, in = out, side = out;
	long of_outer = open_of(clock, outer, -1), of_inner = open_of(clock, inner, -1);
	long of_other = open_of(clock, other, -1);

	spin();
	expect(passed(of_outer, &out) | passed(of_inner, &in) | passed(of_other, &side), 0);
	move_to(outer);
	spin();
	expect(passed(of_outer, &out) > MS, 1);
	expect(passed(of_inner, &in) | passed(of_other, &side), 0);
	move_to(inner);
	spin();
	expect(passed(of_outer, &out) > MS, 1); /* what is below counts too */
	expect(passed(of_inner, &in) > MS, 1);
	expect(passed(of_other, &side), 0);
	move_to(mount);
	passed(of_outer, &out);
	passed(of_inner, &in);
	spin();
	expect(passed(of_outer, &out) | passed(of_inner, &in) | passed(of_other, &side), 0);
	close((int)of_outer);
	close((int)of_inner);
	close((int)of_other);
}

static void wait_for(pid_t pid)
{
	int status;

	expect(waitpid(pid, &status, 0), pid);
	expect(status, 0);
}

/* A child is where its parent is, or where clone3(2) puts it. */
static void test_children(void)
{
	struct perf_attr clock = counting(PERF_COUNT_SW_TASK_CLOCK);
	int dir = directory(other);
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned long)dir};
	long of_inner = open_of(clock, inner, -1), of_other = open_of(clock, other, -1);
	unsigned long before;
	pid_t pid;

	move_to(inner);
	pid = fork();
	if (!pid) {
		spin();
		_exit(0);
	}
	wait_for(pid);
	move_to(mount);
	before = perf_times_of(of_inner).count;
	expect(before > MS, 1);
	expect(perf_times_of(of_other).count, 0);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pid) {
		spin();
		_exit(0);
	}
	wait_for(pid);
	expect(perf_times_of(of_other).count > MS, 1);
	expect(perf_times_of(of_inner).count, (long)before);
	close((int)of_inner);
	close((int)of_other);
	close(dir);
}

/* Enabled only while it is: an event of tasks that are there already. */
static void test_control(void)
{
	struct perf_attr clock = counting(PERF_COUNT_SW_CPU_CLOCK);
	struct perf_times t;
	long fd;

	clock.disabled = 1;
	move_to(inner);
	fd = open_of(clock, inner, -1);
	spin();
	expect(perf_times_of(fd).enabled, 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	spin();
	expect(perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	t = perf_times_of(fd);
	expect(t.count > MS && t.running == t.enabled, 1);
	spin();
	expect(perf_times_of(fd).count, (long)t.count);
	move_to(mount);
	close((int)fd);
}

/* Where there are hardware events: exact counts of what was done in the cgroup. */
static void test_hardware(void)
{
	struct perf_attr a = counting(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	unsigned long rounds = 1000000;
	struct perf_times t;
	long fd;

	a.type = PERF_TYPE_HARDWARE;
	fd = open_of(a, inner, -1);
	if (fd < 0)
		return; /* natively: no hardware events here */
	spin();
	move_to(inner);
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds) : : "cc");
	move_to(mount);
	spin();
	t = perf_times_of(fd);
	expect(t.count >= 1000000 && t.count < 1010000, 1);
	close((int)fd);
}

int main(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || !make_cgroups()) {
		printf("no cgroup can be made here\n");
		return 77;
	}
	if (try_of(directory(outer), 0) == -EACCES || try_of(directory(outer), 0) == -ENOENT) {
		remove_cgroups();
		printf("events of cgroups are refused here\n");
		return 77;
	}
	test_refused();
	test_moves();
	test_children();
	test_control();
	test_hardware();
	remove_cgroups();
	return perf_result();
}
