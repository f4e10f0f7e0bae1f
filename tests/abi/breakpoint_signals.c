/*
 * Signals of breakpoints: SIGTRAP of attr.sigtrap comes at exactly the instruction (before it for execution, after it
 * for data), with siginfo that says which event it was; the instruction is executed once and its breakpoint hit once,
 * whatever the handler does.
 * covers: attr.wakeup_events
 */
#include <ucontext.h>
#include "tests/abi/breakpoint.h"

static _Alignas(64) volatile long word;
static volatile int traps, nested;
static volatile u64 trap_ip[64], trap_rcx[64];
static volatile siginfo_t last;

extern char si_exec[], si_store[], si_after[];

NOINLINE static long bump(long n)
{
	__asm__ volatile("mov %0, %%rcx\n"
			 "si_exec: add $1, %0\n"
			 "si_store: mov %0, %1\n"
			 "si_after: nop\n"
			 : "+r"(n), "=m"(word)
			 :
			 : "rcx", "memory");
	return n;
}

/* As the kernel's siginfo of SIGTRAP with code TRAP_PERF. */
struct perf_info {
	int signo, err, code, pad;
	u64 addr, data;
	u32 type, flags;
};

static void on_trap(int sig, siginfo_t *info, void *uc_)
{
	const ucontext_t *uc = uc_;

	if (traps < 64) {
		trap_ip[traps] = (u64)uc->uc_mcontext.gregs[REG_RIP];
		trap_rcx[traps] = (u64)uc->uc_mcontext.gregs[REG_RCX];
	}
	traps++;
	memcpy((void *)&last, info, sizeof(struct perf_info));
	if (nested) {
		nested = 0;
		bump(100);
	}
}

static long open_trap(u32 type, const volatile void *addr, u64 period, u64 data)
{
	struct perf_attr a = bp_attr(type, addr, 8);

	a.sample_period = period;
	a.sigtrap = 1;
	a.remove_on_exec = 1;
	a.sig_data = data;
	a.sample_type = PERF_SAMPLE_ADDR;
	return perf_open(&a, 0, -1, -1, 0);
}

static void check_info(const volatile void *addr, u64 data)
{
	struct perf_info info;

	memcpy(&info, (void *)&last, sizeof(info));
	expect(info.signo, SIGTRAP);
	expect(info.code, 6); /* TRAP_PERF */
	expect(info.addr, (long)addr);
	expect(info.data, (long)data);
	expect(info.type, PERF_TYPE_BREAKPOINT);
}

static void execution(void)
{
	long fd = open_trap(HW_BREAKPOINT_X, si_exec, 1, 0x1234), n = 0;

	traps = 0;
	for (int i = 0; i < 10; i++)
		n = bump(n);
	expect(n, 10);
	expect(traps, 10);
	expect(perf_value(fd), 10);
	for (int i = 0; i < 10; i++) {
		expect(trap_ip[i], (long)si_exec);
		expect(trap_rcx[i], i);
	}
	check_info(si_exec, 0x1234);
	close((int)fd);
}

static void data(void)
{
	long fd = open_trap(HW_BREAKPOINT_W, &word, 2, 77), n = 0;

	traps = 0;
	for (int i = 0; i < 10; i++)
		n = bump(n);
	expect(n, 10);
	expect(traps, 5);
	expect(perf_value(fd), 10);
	for (int i = 0; i < 5; i++)
		expect(trap_ip[i], (long)si_after);
	check_info(&word, 77);
	close((int)fd);
}

/* The handler runs the same code: hit inside it, but not signalled, since SIGTRAP is blocked there until it returns. */
static void within_handler(void)
{
	long fd = open_trap(HW_BREAKPOINT_X, si_exec, 1, 5), n;

	traps = 0;
	nested = 1;
	n = bump(0);
	expect(n, 1);
	expect(perf_value(fd), 2);
	expect(traps, 2);
	close((int)fd);
}

static void on_io(int sig, siginfo_t *info, void *uc)
{
	traps++;
	expect(info->si_code, 1); /* POLL_IN */
	expect(info->si_fd, last.si_errno);
}

/* What `perf test` does: a handler by F_SETSIG for each hit. */
static void by_descriptor(void)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_X, si_exec, 8);
	struct sigaction sa = {.sa_sigaction = on_io, .sa_flags = SA_SIGINFO};
	long fd, n = 0;

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP;
	a.wakeup_events = 1;
	fd = perf_open(&a, 0, -1, -1, 0);
	last.si_errno = (int)fd;
	sigaction(SIGUSR1, &sa, NULL);
	expect(fcntl((int)fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC), 0);
	expect(fcntl((int)fd, F_SETSIG, SIGUSR1), 0);
	expect(fcntl((int)fd, F_SETOWN, getpid()), 0);
	traps = 0;
	for (int i = 0; i < 5; i++)
		n = bump(n);
	expect(n, 5);
	expect(perf_value(fd), 5);
	expect(traps, 5);
	close((int)fd);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	bp_skip_without();
	sigaction(SIGTRAP, &sa, NULL);
	execution();
	data();
	within_handler();
	by_descriptor();
	return perf_result();
}
