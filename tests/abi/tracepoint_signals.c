/*
 * Tracepoints and signals: a system call that a signal ends and that is begun again, the way back from a handler, the
 * count under a storm of signals, and SIGTRAP in place of records.
 */
#include <sys/time.h>
#include "tests/abi/tracepoint.h"

#define RESTARTSYS 512
#define CALLS 100000
#define OWN_TRAP_PERF 6 /* older C libraries have no TRAP_PERF */

static volatile sig_atomic_t alarms, traps;
static siginfo_t last_trap;

static void on_alarm(int signo)
{
	alarms++;
	syscall(SYS_getuid);
}

static void on_trap(int signo, siginfo_t *info, void *context)
{
	traps++;
	last_trap = *info;
}

static void set_alarm(long first, long then)
{
	struct itimerval it = {{0, then}, {0, first}};
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

static void expect_call(struct tracer *t, long nr, long value)
{
	struct traced r;

	expect(tracer_next(t, PERF_SAMPLE_RAW, 1, &r), 1);
	expect(r.nr, nr);
	expect(r.value[0], value);
}

/*
 * Linux quirks: the call that is begun again has two ends, of which the first tells the kernel's own errno; the end of
 * rt_sigreturn has no number.
 */
static void begun_again(void)
{
	struct tracer enter = tracer_open("raw_syscalls/sys_enter", PERF_SAMPLE_RAW);
	struct tracer exit = tracer_open("raw_syscalls/sys_exit", PERF_SAMPLE_RAW);
	int ends[2], pid;
	char byte;

	expect(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		usleep(600000);
		_exit(write(ends[1], "x", 1) != 1);
	}
	set_alarm(200000, 0);
	perf_ioctl(exit.fd, PERF_EVENT_IOC_ENABLE, 0);
	perf_ioctl(enter.fd, PERF_EVENT_IOC_ENABLE, 0);
	expect(read(ends[0], &byte, 1), 1);
	perf_ioctl(enter.fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_ioctl(exit.fd, PERF_EVENT_IOC_DISABLE, 0);
	expect(alarms, 1);
	for (int i = 0; i < 2; i++)
		expect_call(&exit, SYS_ioctl, 0);
	expect_call(&enter, SYS_read, ends[0]);
	expect_call(&exit, SYS_read, -RESTARTSYS);
	expect(tracer_next(&enter, PERF_SAMPLE_RAW, 1, &(struct traced){0}), 1); /* getuid */
	expect_call(&exit, SYS_getuid, (long)getuid());
	expect(tracer_next(&enter, PERF_SAMPLE_RAW, 1, &(struct traced){0}), 1); /* rt_sigreturn */
	expect_call(&exit, -1, 0);
	expect_call(&enter, SYS_read, ends[0]);
	expect_call(&exit, SYS_read, 1);
	waitpid(pid, NULL, 0);
	tracer_close(&enter);
	tracer_close(&exit);
}

static void storm(void)
{
	long enter = trace_open(trace_attr("syscalls/sys_enter_getppid"), 0),
	     exit = trace_open(trace_attr("syscalls/sys_exit_getppid"), 0);
	long handled = trace_open(trace_attr("syscalls/sys_exit_getuid"), 0),
	     back = trace_open(trace_attr("syscalls/sys_exit_rt_sigreturn"), 0);

	alarms = 0;
	set_alarm(100, 100);
	call_getppid(CALLS);
	set_alarm(0, 0);
	expect(trace_count(enter), CALLS);
	expect(trace_count(exit), CALLS);
	expect(trace_count(handled), alarms);
	expect(trace_count(back), 0);
	expect(alarms > 1, 1);
}

static void traps_at(const char *name)
{
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	struct perf_attr a = trace_attr(name);
	long fd;

	sigaction(SIGTRAP, &sa, NULL);
	a.sigtrap = a.remove_on_exec = 1;
	a.sig_data = 0x1234;
	a.sample_period = 2;
	fd = trace_open(a, 0);
	traps = 0;
	call_getppid(7);
	expect(trace_count(fd), 7);
	expect(traps, 3);
	expect(last_trap.si_code, OWN_TRAP_PERF);
}

int main(void)
{
	trace_skip_without();
	begun_again();
	storm();
	traps_at("syscalls/sys_enter_getppid");
	traps_at("syscalls/sys_exit_getppid");
	return perf_result();
}
