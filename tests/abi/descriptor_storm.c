/*
 * Descriptor numbers beside everything that pcl does, see storm.h. Natively no call takes numbers besides those that it
 * returns.
 */
#include <linux/hw_breakpoint.h>
#include <spawn.h>
#include <sys/resource.h>
#include "tests/abi/sampling.h"
#include "tests/abi/storm.h"
#include "tests/abi/tracepoint.h"

#define OTHERS 3
#define KINDS 4

/* ---- other tasks ---- */

static struct {
	int pid, tid, fd[KINDS];
} other[OTHERS]; /* a process of one thread, and two threads of another one */
static long last[OTHERS][KINDS];

static void *burn_for_ever(void *tid)
{
	if (tid)
		__atomic_store_n((int *)tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (;;) {
		fault(1);
		usleep(100);
	}
	return NULL;
}

/* It ends with its parent. */
static int fork_tied(void)
{
	int parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	return 0;
}

static int begin_other(int *tids)
{
	pthread_t t;
	int pid = fork_tied();

	if (pid)
		return pid;
	if (tids)
		pthread_create(&t, NULL, burn_for_ever, &tids[1]);
	burn_for_ever(tids);
	return 0;
}

static void begin_others(void)
{
	static const u64 kind[KINDS] = {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
					PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS};
	int *tids = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	other[0].pid = other[0].tid = begin_other(NULL);
	other[1].pid = other[2].pid = begin_other(tids);
	while (!__atomic_load_n(&tids[0], __ATOMIC_ACQUIRE) || !__atomic_load_n(&tids[1], __ATOMIC_ACQUIRE))
		usleep(1000);
	other[1].tid = tids[0];
	other[2].tid = tids[1];
	for (int i = 0; i < OTHERS; i++)
		for (int k = 0; k < KINDS; k++) {
			struct perf_attr a = perf_attr_sw(kind[k]);

			other[i].fd[k] = (int)perf_open(&a, other[i].tid, -1, -1, 0);
			expect(other[i].fd[k] >= 0, 1);
		}
}

static void end_others(void)
{
	kill(other[0].pid, SIGKILL);
	kill(other[1].pid, SIGKILL);
	waitpid(other[0].pid, NULL, 0);
	waitpid(other[1].pid, NULL, 0);
}

static void read_others(void)
{
	for (int i = 0; i < OTHERS; i++)
		for (int k = 0; k < KINDS; k++) {
			long value = perf_value(other[i].fd[k]);

			if (value < last[i][k])
				expect(value, last[i][k]);
			last[i][k] = value;
		}
}

static void control_others(void)
{
	for (int i = 0; i < OTHERS; i++)
		for (int k = 0; k < KINDS; k++) {
			ioctl(other[i].fd[k], PERF_EVENT_IOC_DISABLE, 0);
			ioctl(other[i].fd[k], PERF_EVENT_IOC_ENABLE, 0);
		}
}

/* ---- facilities without a descriptor ---- */

static int ring_fd, comm_fd, exec_fd;
static struct sampler sampled;

static void map_ring(void)
{
	void *p = mmap(NULL, 9 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);

	expect(p != MAP_FAILED, 1);
	expect(munmap(p, 9 * 4096), 0);
}

static void take_samples(void)
{
	fault(20);
	sampler_take(&sampled);
}

/* The events of the records that are written here are exec_fd's and comm_fd's. */
static void map_file(void)
{
	static int file = -1;
	void *p;

	if (file < 0) {
		file = open("/proc/self/exe", O_RDONLY);
		dup2(file, 200);
		close(file);
		file = 200;
	}
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	mprotect(p, 4096, PROT_READ);
	mprotect(p, 4096, PROT_READ | PROT_EXEC);
	munmap(p, 4096);
	prctl(PR_SET_NAME, "storm");
}

static void forks(void)
{
	int status, pid = fork();

	if (!pid)
		_exit(7);
	waitpid(pid, &status, 0);
	expect(WEXITSTATUS(status), 7);
}

static void spawns(void)
{
	static char *argv[] = {"true", NULL};
	int status, pid;

	expect(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, argv + 1), 0);
	waitpid(pid, &status, 0);
	expect(status, 0);
}

static void kills(void)
{
	struct rusage ru;
	int status, pid = fork_tied();

	if (!pid)
		for (;;)
			pause();
	kill(pid, SIGKILL);
	wait4(pid, &status, 0, &ru);
}

static void *nothing(void *arg)
{
	return arg;
}

static void makes_threads(void)
{
	pthread_t t;

	expect(pthread_create(&t, NULL, nothing, NULL), 0);
	pthread_join(t, NULL);
}

static void makes_timers(void)
{
	struct itimerspec soon = {.it_value.tv_nsec = 1000000};
	struct sigevent ev = {.sigev_notify = SIGEV_NONE};
	timer_t timer;

	expect(timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
	expect(timer_settime(timer, 0, &soon, NULL), 0);
	expect(timer_delete(timer), 0);
}

static volatile int signals;

static void on_signal(int signo)
{
	signals++;
}

static void takes_signals(void)
{
	ioctl((int)sampled.fd, PERF_EVENT_IOC_REFRESH, 2);
	fault(20);
}

static void looks_at_paths(void)
{
	char text[256];
	struct stat st;

	expect(readlink("/proc/self/exe", text, sizeof(text)) > 0, 1);
	stat("/proc/sys/kernel/perf_event_paranoid", &st);
	access("/sys/bus/event_source/devices", R_OK);
}

/* ---- facilities that return a descriptor ---- */

static void opens_software(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	own((int)perf_open(&a, 0, -1, -1, 0));
	own((int)perf_open(&a, other[1].tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
	expect(perf_try(a, 0, 100000, -1, 0), -EINVAL);
}

static void opens_hardware(void)
{
	struct perf_attr a = insns_attr(0);

	own((int)perf_open(&a, 0, -1, -1, 0));
}

static void opens_breakpoint(void)
{
	static long watched;
	struct perf_attr a = {
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(a), .bp_type = HW_BREAKPOINT_W, .exclude_kernel = 1};

	a.bp_addr = (u64)&watched;
	a.bp_len = sizeof(watched);
	own((int)perf_open(&a, 0, -1, -1, 0));
	watched++;
}

static struct perf_attr traced;

static void opens_tracepoint(void)
{
	own((int)perf_open(&traced, 0, -1, -1, 0));
}

static void reads(const char *path, long min)
{
	char text[4096];
	int fd = open(path, O_RDONLY);
	long n, sum = 0;

	while (fd >= 0 && (n = read(fd, text, sizeof(text))) > 0)
		sum += n;
	if (fd >= 0) {
		expect(sum >= min, 1);
		expect(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY);
		expect(fcntl(fd, F_GETFD), 0);
		own(fd);
	}
}

static void reads_proc(void)
{
	char path[64];

	reads("/proc/self/maps", 1000);
	reads("/proc/self/status", 500);
	reads("/proc/thread-self/status", 500);
	reads("/proc/sys/kernel/perf_event_paranoid", 2);
	reads("/proc/sys/kernel/perf_event_mlock_kb", 2);
	snprintf(path, sizeof(path), "/proc/%d/maps", other[0].pid);
	reads(path, 1000);
}

static void reads_smaps(void)
{
	reads("/proc/self/smaps", 1000);
}

static void reads_sys(void)
{
	char text[4096];
	int fd = open("/sys/bus/event_source/devices", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		expect(syscall(SYS_getdents64, fd, text, sizeof(text)) > 0, 1);
		expect(fcntl(fd, F_GETFD), FD_CLOEXEC);
		own(fd);
	}
	reads("/sys/bus/event_source/devices/software/type", 2);
	reads("/sys/bus/event_source/devices/cpu/type", 2);
}

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY), s = faults_attr(3);

	if (perf_try(a, 0, -1, -1, 0))
		return perf_result();
	storm_begin();
	begin_others();
	ring_fd = (int)perf_open(&a, 0, -1, -1, 0);
	a.comm = a.mmap = a.mmap2 = a.mmap_data = a.task = 1;
	comm_fd = (int)perf_open(&a, 0, -1, -1, 0);
	expect(mmap(NULL, 9 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, comm_fd, 0) != MAP_FAILED, 1);
	a = perf_attr_sw(PERF_COUNT_SW_CPU_MIGRATIONS);
	a.inherit = 1;
	a.exclude_kernel = 0;
	exec_fd = (int)perf_open(&a, 0, -1, -1, 0);
	s.sample_type |= PERF_SAMPLE_CGROUP;
	sampled = sampler_open(&s, -1);
	storm_from_here();

	storm("reading others", 0, read_others);
	storm("enabling others", 0, control_others);
	storm("mapping a ring", 0, map_ring);
	ioctl((int)sampled.fd, PERF_EVENT_IOC_ENABLE, 0);
	storm("samples", 0, take_samples);
	map_file();
	storm("mapping a file", 0, map_file);
	storm("fork", 0, forks);
	storm("posix_spawn", 0, spawns);
	storm("kill", 0, kills);
	storm("threads", 0, makes_threads);
	storm("timers", 0, makes_timers);
	storm("paths", 0, looks_at_paths);
	signal(SIGRTMIN, on_signal);
	fcntl((int)sampled.fd, F_SETSIG, SIGRTMIN);
	fcntl((int)sampled.fd, F_SETOWN, getpid());
	fcntl((int)sampled.fd, F_SETFL, O_ASYNC);
	storm("signals", 0, takes_signals);
	expect(signals > 0, 1);

	storm("software events", 1, opens_software);
	if (have_pmu())
		storm("hardware events", 1, opens_hardware);
	if (have_pmu())
		storm("breakpoints", 1, opens_breakpoint);
	traced = trace_attr("syscalls/sys_enter_getppid");
	if (perf_try(traced, 0, -1, -1, 0) == 0)
		storm("tracepoints", 1, opens_tracepoint);
	storm("/proc", 1, reads_proc);
	storm("smaps", 1, reads_smaps);
	storm("/sys", 1, reads_sys);

	storm_of_process("another process, reading others", 0, read_others);
	storm_of_process("another process, software events", 1, opens_software);
	storm_of_process("another process, /proc", 1, reads_proc);

	end_others();
	return perf_result();
}
