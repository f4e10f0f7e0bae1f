/*
 * Tracepoints of system calls: what counts as one, what their records say, and who else's calls count.
 * covers: PERF_TYPE_TRACEPOINT, PERF_EVENT_IOC_SET_BPF, PERF_EVENT_IOC_QUERY_BPF, PERF_RECORD_MISC_KERNEL
 */
#include <pthread.h>
#include <time.h>
#include "tests/abi/tracepoint.h"

#define GETPPIDS 5

static void counts(void)
{
	long enter = trace_open(trace_attr("syscalls/sys_enter_getppid"), 0),
	     exit = trace_open(trace_attr("syscalls/sys_exit_getppid"), 0);
	long fd, raw;

	call_getppid(100);
	getuid();
	expect(trace_count(enter), 100);
	expect(trace_count(exit), 100);
	/* Of the calls around an event, those that end or begin while it is there. */
	raw = trace_open(trace_attr("raw_syscalls/sys_enter"), 0);
	call_getppid(3);
	expect(trace_count(raw), 3 + 1); /* and the read itself */
	raw = trace_open(trace_attr("raw_syscalls/sys_exit"), 0);
	call_getppid(3);
	expect(trace_count(raw), 1 + 3); /* perf_event_open */
	expect(trace_count(trace_open(trace_attr("syscalls/sys_exit_perf_event_open"), 0)), 1);
	fd = trace_open(trace_attr("syscalls/sys_enter_ioctl"), 0);
	perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect(trace_count(fd), 1);
	fd = trace_open(trace_attr("syscalls/sys_exit_ioctl"), 0);
	perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect(trace_count(fd), 1);
}

/*
 * Linux quirk: the named ones are in user mode for attr.exclude_kernel, the raw ones are not; exclude_user means
 * nothing.
 */
static void modes(void)
{
	static const struct {
		const char *name;
		int no_user, no_kernel, want;
	} rows[] = {
		{"syscalls/sys_enter_getppid", 0, 1, 7},
		{"syscalls/sys_enter_getppid", 1, 0, 7},
		{"syscalls/sys_exit_getppid", 1, 1, 7},
		{"raw_syscalls/sys_enter", 0, 1, 0},
		{"raw_syscalls/sys_enter", 1, 0, 7 + 1},
		{"raw_syscalls/sys_exit", 1, 1, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perf_attr a = trace_attr(rows[i].name);
		long fd;

		a.exclude_user = rows[i].no_user;
		a.exclude_kernel = rows[i].no_kernel;
		fd = trace_open(a, 0);
		call_getppid(7);
		expect(trace_count(fd), rows[i].want);
	}
}

static void strange_calls(void)
{
	syscall(SYS_getppid);
	syscall(SYS_prctl, 9999, 2, -3L, 4, 0x123456789abcdef0);
	syscall(5000, 1);
	syscall(-1, 1);
}

static struct traced take(struct tracer *t, u64 sample_type, int raw)
{
	struct traced r;

	expect(tracer_next(t, sample_type, raw, &r), 1);
	expect(r.type, t->id);
	expect(r.pid, getpid());
	return r;
}

static void nothing_left(struct tracer *t)
{
	struct traced r;

	expect(tracer_next(t, PERF_SAMPLE_RAW, 0, &r), 0);
}

static void expect_prctl(const struct traced *r)
{
	expect(r->nr, SYS_prctl);
	expect(r->value[0], 9999);
	expect(r->value[1], 2);
	expect(r->value[2], -3L);
	expect(r->value[3], 4);
	expect(r->value[4], 0x123456789abcdef0);
}

static void named_records(void)
{
	u64 type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW;
	struct tracer enter = tracer_open("syscalls/sys_enter_prctl", type),
		      exit = tracer_open("syscalls/sys_exit_prctl", type);
	struct traced r;

	perf_ioctl(enter.fd, PERF_EVENT_IOC_ENABLE, 0);
	perf_ioctl(exit.fd, PERF_EVENT_IOC_ENABLE, 0);
	strange_calls();
	perf_ioctl(enter.fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_ioctl(exit.fd, PERF_EVENT_IOC_DISABLE, 0);
	r = take(&enter, type, 0);
	expect_prctl(&r);
	expect(r.size, 8 + 8 + 5 * 8 + 4);
	expect(r.misc, PERF_RECORD_MISC_USER);
	expect(memcmp((const void *)(r.ip - 2), "\x0f\x05", 2), 0); /* it has been executed */
	r = take(&exit, type, 0);
	expect(r.nr, SYS_prctl);
	expect(r.value[0], -EINVAL);
	expect(r.size, 8 + 8 + 8 + 4);
	expect(r.misc, PERF_RECORD_MISC_USER);
	nothing_left(&enter);
	nothing_left(&exit);
	tracer_close(&enter);
	tracer_close(&exit);
}

static void raw_records(void)
{
	static const long nr[] = {SYS_getppid, SYS_prctl, 5000, -1};
	struct tracer enter = tracer_open("raw_syscalls/sys_enter", PERF_SAMPLE_RAW);
	struct tracer exit = tracer_open("raw_syscalls/sys_exit", PERF_SAMPLE_RAW);
	struct traced r;

	perf_ioctl(exit.fd, PERF_EVENT_IOC_ENABLE, 0);
	perf_ioctl(enter.fd, PERF_EVENT_IOC_ENABLE, 0);
	strange_calls();
	perf_ioctl(enter.fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_ioctl(exit.fd, PERF_EVENT_IOC_DISABLE, 0);
	for (int i = 0; i < 2; i++) /* of the two that enabled */
		expect(take(&exit, PERF_SAMPLE_RAW, 1).nr, SYS_ioctl);
	for (int i = 0; i < 4; i++) {
		r = take(&enter, PERF_SAMPLE_RAW, 1);
		expect(r.nr, nr[i]);
		expect(r.size, 8 + 8 + 6 * 8 + 4);
		expect(r.misc, PERF_RECORD_MISC_KERNEL);
		if (i == 1)
			expect_prctl(&r);
		r = take(&exit, PERF_SAMPLE_RAW, 1);
		expect(r.nr, nr[i]);
		expect(r.value[0], i == 0 ? getppid() : i == 1 ? -EINVAL : -ENOSYS);
	}
	tracer_close(&enter);
	tracer_close(&exit);
}

static void periods(void)
{
	for (int with_period = 0; with_period < 2; with_period++) {
		struct perf_attr a = trace_attr("syscalls/sys_enter_getppid");
		struct perf_event_mmap_page *page;
		long fd;

		a.sample_period = 3;
		a.sample_type = PERF_SAMPLE_TID | (with_period ? PERF_SAMPLE_PERIOD : 0);
		fd = trace_open(a, 0);
		page = mmap(NULL, TRACE_RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
		call_getppid(7);
		/* Linux quirk: with PERF_SAMPLE_PERIOD there is a sample of each. */
		expect(page->data_head, with_period ? 7 * 24 : 2 * 16);
		expect(trace_count(fd), 7);
		munmap(page, TRACE_RING);
	}
}

static void *in_thread(void *n)
{
	call_getppid((int)(long)n);
	return NULL;
}

static void family(void)
{
	struct perf_attr a = trace_attr("syscalls/sys_enter_getppid"), b = trace_attr("syscalls/sys_exit_fork");
	long enter, forks, alone = trace_open(a, 0);
	pthread_t thread;

	a.inherit = b.inherit = 1;
	enter = trace_open(a, 0);
	forks = trace_open(b, 0);
	pthread_create(&thread, NULL, in_thread, (void *)20);
	pthread_join(thread, NULL);
	if (syscall(SYS_fork) == 0) {
		call_getppid(300);
		_exit(0);
	}
	wait(NULL);
	call_getppid(1);
	expect(trace_count(enter), 321);
	expect(trace_count(alone), 1);
	expect(trace_count(forks), 2); /* it returns twice */
}

/* An event that begins with a program sees the end of the call that began it, and what the program does. */
static void programs(const char *self)
{
	struct perf_attr a = trace_attr("syscalls/sys_enter_getppid"), b = trace_attr("syscalls/sys_exit_execve");
	struct perf_attr c = trace_attr("syscalls/sys_enter_execve");
	long enter, exit_execve, enter_execve;
	int go[2], pid;
	char byte;

	expect(pipe(go), 0);
	pid = fork();
	if (!pid) {
		close(go[1]);
		byte = (char)read(go[0], &byte, 1);
		execl(self, self, "getppid", NULL);
		_exit(1);
	}
	a.disabled = b.disabled = c.disabled = 1;
	a.enable_on_exec = b.enable_on_exec = c.enable_on_exec = 1;
	enter = trace_open(a, pid);
	exit_execve = trace_open(b, pid);
	enter_execve = trace_open(c, pid);
	close(go[0]);
	close(go[1]);
	waitpid(pid, NULL, 0);
	expect(trace_count(enter), GETPPIDS);
	expect(trace_count(exit_execve), 1);
	expect(trace_count(enter_execve), 0);
}

static void all_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF), sum = 0;
	long fd[256];
	char filter[64];

	if (geteuid() || cpus > 256)
		return;
	snprintf(filter, sizeof(filter), "common_pid == %d", getpid());
	for (long cpu = 0; cpu < cpus; cpu++) {
		struct perf_attr a = trace_attr("syscalls/sys_enter_getppid");

		a.disabled = 1;
		fd[cpu] = perf_open(&a, -1, (int)cpu, -1, 0);
		if (fd[cpu] < 0)
			continue;
		expect(perf_ioctl(fd[cpu], PERF_EVENT_IOC_SET_FILTER, (unsigned long)filter), 0);
		expect(perf_ioctl(fd[cpu], PERF_EVENT_IOC_ENABLE, 0), 0);
	}
	call_getppid(50);
	for (long cpu = 0; cpu < cpus; cpu++)
		sum += fd[cpu] >= 0 ? trace_count(fd[cpu]) : 0;
	expect(sum, 50);
}

static void refusals(void)
{
	struct perf_attr a = trace_attr("syscalls/sys_enter_getppid"), b = a;
	u32 query[3] = {1, 99, 99};
	long fd;

	b.config = 65000;
	expect(perf_try(b, 0, -1, -1, 0), -EINVAL);
	b.sample_type = PERF_SAMPLE_BRANCH_STACK;
	b.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	expect(perf_try(b, 0, -1, -1, 0), -EOPNOTSUPP);
	b = a;
	b.use_clockid = 1;
	b.clockid = CLOCK_REALTIME;
	expect(perf_try(b, 0, -1, -1, 0), -EINVAL);
	fd = trace_open(a, 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_BPF, 999), -EBADF);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, (unsigned long)query), geteuid() ? -EPERM : 0);
	expect(query[1], geteuid() ? 99 : 0);
	close((int)fd);
	b = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);
	fd = trace_open(b, 0);
	expect(perf_try(a, 0, -1, (int)fd, 0), 0);
	close((int)fd);
}

static long paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	char text[16] = "";

	if (f) {
		expect(!!fgets(text, sizeof(text), f), 1);
		fclose(f);
	}
	return strtol(text, NULL, 10);
}

/* Whoever is no more than a user sees what his own tasks do, and of all tasks no records. */
static void privilege(void)
{
	struct perf_attr a = trace_attr("syscalls/sys_enter_getppid");

	a.exclude_kernel = 1;
	a.sample_type = PERF_SAMPLE_RAW;
	a.sample_period = 1;
	if (paranoid() < 0 || paranoid() > 2 || !as_nobody())
		return;
	expect(perf_try(a, 0, -1, -1, 0), 0);
	expect(perf_try(a, -1, 0, -1, 0), -EPERM);
	exit(failures);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		call_getppid(GETPPIDS);
		return 0;
	}
	trace_skip_without();
	counts();
	modes();
	named_records();
	raw_records();
	periods();
	family();
	programs(argv[0]);
	all_cpus();
	refusals();
	privilege();
	return perf_result();
}
