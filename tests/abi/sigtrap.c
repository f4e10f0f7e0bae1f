/*
 * attr.sigtrap: SIGTRAP in the thread that the event overflowed in, at once, with si_code TRAP_PERF and the event's
 * address, type and sig_data. Blocked it waits, marked as asynchronous; another one that comes meanwhile is lost.
 * covers: attr.sigtrap, attr.sig_data
 */
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <time.h>
#include "tests/abi/breakpoint.h"
#include "tests/abi/sampling.h"

#define SIG_DATA 0x123456789abcdeful
#define OWN_TRAP_PERF 6

/* The kernel's siginfo, of which C libraries do not all know this part. */
struct trap_info {
	s32 signo, err, code, pad;
	u64 addr, data;
	u32 type, flags;
};

static struct trap_info seen;
static volatile int traps, other_thread;
static volatile long watched;
static pthread_t self;

static void on_trap(int signo, siginfo_t *info, void *context)
{
	memcpy(&seen, info, sizeof(seen));
	other_thread += !pthread_equal(pthread_self(), self);
	traps++;
}

static struct perf_attr watch_attr(void)
{
	return (struct perf_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (u64)&watched,
		.bp_len = sizeof(watched),
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sigtrap = 1,
		.remove_on_exec = 1,
		.sig_data = SIG_DATA,
	};
}

/* One store, one trap, before anything after the store is done. */
static void synchronous(void)
{
	struct perf_attr a = watch_attr();
	long fd = perf_open(&a, 0, -1, -1, 0);

	expect(fd >= 0, 1);
	traps = 0;
	for (int i = 1; i <= 5; i++) {
		watched = i;
		expect(traps, i);
	}
	expect(seen.signo, SIGTRAP);
	expect(seen.code, OWN_TRAP_PERF);
	expect(seen.err, 0);
	expect(seen.addr == (u64)&watched, 1);
	expect(seen.data, (long)SIG_DATA);
	expect(seen.type, PERF_TYPE_BREAKPOINT);
	expect(seen.flags, 0);
	close((int)fd);
	watched = 0;
	expect(traps, 5);
}

static void blocked(void)
{
	struct perf_attr a = watch_attr();
	long fd = perf_open(&a, 0, -1, -1, 0);
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	traps = 0;
	sigprocmask(SIG_BLOCK, &set, NULL);
	watched = 1;
	watched = 2;
	expect(traps, 0);
	sigpending(&pending);
	expect(sigismember(&pending, SIGTRAP), 1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	expect(traps, 1);
	expect(seen.code, OWN_TRAP_PERF);
	expect(seen.flags, 1 /* TRAP_PERF_FLAG_ASYNC */);
	close((int)fd);
}

/* Of several at one instruction there is one signal: of breakpoints the last one's, of page faults the first one's. */
static void several(struct perf_attr a, u64 want)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long fd[3];

	for (u64 i = 0; i < 3; i++) {
		a.sig_data = i;
		a.disabled = i < 2;
		fd[i] = perf_open(&a, 0, -1, i ? (int)fd[0] : -1, 0);
		expect(fd[i] >= 0, 1);
	}
	perf_ioctl(fd[1], PERF_EVENT_IOC_ENABLE, 0);
	traps = 0;
	perf_ioctl(fd[0], PERF_EVENT_IOC_ENABLE, 0); /* of the whole group */
	if (a.type == PERF_TYPE_BREAKPOINT)
		watched = 1;
	else
		*(volatile char *)p = 1;
	expect(traps, 1);
	expect(seen.data, (long)want);
	for (int i = 2; i >= 0; i--)
		close((int)fd[i]);
	munmap(p, 4096);
}

static void several_of_each(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);

	a.sample_period = 1;
	a.sigtrap = a.remove_on_exec = 1;
	several(a, 0);
	several(watch_attr(), 2);
}

static void *store(void *unused)
{
	watched = 7;
	return NULL;
}

/* The thread that stores gets it, not the one that opened the event. */
static void inherited(void)
{
	struct perf_attr a = watch_attr();
	pthread_t thread;
	long fd;

	a.inherit = a.inherit_thread = 1;
	fd = perf_open(&a, 0, -1, -1, 0);
	expect(fd >= 0, 1);
	traps = 0;
	pthread_create(&thread, NULL, store, NULL);
	pthread_join(thread, NULL);
	expect(traps, 1);
	expect(other_thread, 1);
	close((int)fd);
}

/* A clock's trap comes some time while it runs. */
static void by_clock(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	long fd;

	a.sample_period = 1000000;
	a.sigtrap = a.remove_on_exec = 1;
	a.sig_data = 42;
	traps = 0;
	fd = perf_open(&a, 0, -1, -1, 0);
	expect(fd >= 0, 1);
	for (volatile int i = 0; i < 60000000; i++)
		;
	close((int)fd);
	expect(traps > 5, 1);
	expect(seen.data, 42);
	expect(seen.type, PERF_TYPE_SOFTWARE);
	expect(seen.addr, 0);
}

/* Page faults, which pcl sees where it looks at its host's counts: in system calls. */
static void by_faults(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);
	char *p = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long fd;

	a.sample_period = 1;
	a.sigtrap = a.remove_on_exec = 1;
	a.sig_data = 43;
	traps = 0;
	fd = perf_open(&a, 0, -1, -1, 0);
	expect(fd >= 0, 1);
	for (int i = 0; i < 16; i++)
		((volatile char *)p)[i * 4096] = 1;
	getppid();
	close((int)fd);
	munmap(p, 16 * 4096);
	expect(traps > 0, 1);
	expect(seen.data, 43);
}

/* Without a handler it ends the process. */
static void fatal(void)
{
	struct perf_attr a = watch_attr();
	int status;

	if (fork() == 0) {
		signal(SIGTRAP, SIG_DFL);
		perf_open(&a, 0, -1, -1, 0);
		watched = 1;
		_exit(0);
	}
	wait(&status);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP, 1);
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &act, NULL);
	self = pthread_self();
	bp_skip_without();
	synchronous();
	blocked();
	several_of_each();
	inherited();
	by_clock();
	by_faults();
	fatal();
	return perf_result();
}
