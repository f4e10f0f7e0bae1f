/*
 * Signals of events' wakeups: O_ASYNC, FIOASYNC, F_SETOWN, F_SETOWN_EX and F_SETSIG, and the siginfo that says why.
 * Each overflow is a signal, whether it wakes pollers or not, and so is each wakeup by side-band records.
 * covers: POLL_IN, POLL_HUP, F_SETSIG, F_SETOWN
 */
#include <poll.h>
#include <pthread.h>
#include "tests/abi/sampling.h"
#include "tests/abi/wakeup.h"

#define SIG_RT (SIGRTMIN + 3)
#define BAND_IN (POLLIN | POLLRDNORM)
#define BAND_HUP (POLLHUP | POLLERR)

/* What the handler saw. */
static volatile int taken, first_code, last_code, last_fd, last_signo, last_tid;
static volatile long last_band;

static void on_signal(int signo, siginfo_t *info, void *uc)
{
	if (!taken)
		first_code = info->si_code;
	last_signo = signo;
	last_code = info->si_code;
	last_band = info->si_band;
	last_fd = info->si_fd;
	last_tid = (int)syscall(SYS_gettid);
	taken++;
}

static void catch(int signo)
{
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigaction(signo, &act, NULL);
}

static long set(int fd, int cmd, long arg)
{
	return fcntl(fd, cmd, arg) < 0 ? -errno : 0;
}

static void set_async(int fd, int signo, int on)
{
	int flags = fcntl(fd, F_GETFL);

	expect(flags & O_ACCMODE, O_RDWR);
	expect(set(fd, F_SETSIG, signo), 0);
	expect(set(fd, F_SETOWN, getpid()), 0);
	expect(fcntl(fd, F_GETOWN), getpid());
	expect(fcntl(fd, F_GETSIG), signo);
	expect(set(fd, F_SETFL, on ? flags | O_ASYNC : flags & ~O_ASYNC), 0);
	expect(!(fcntl(fd, F_GETFL) & O_ASYNC), !on);
}

/* The last of n overflows has come, and nothing comes after it. */
static void burn_through(struct waker *w, int n)
{
	taken = 0;
	expect(ioctl(w->fd, PERF_EVENT_IOC_REFRESH, n), 0);
	burn_until(taken >= n);
	for (volatile int i = 0; i < 5000000; i++)
		;
	expect(taken, n);
}

static void expect_info(int signo, int code, int fd, long band)
{
	expect(last_signo, signo);
	expect(last_code, code);
	expect(last_fd, fd);
	expect(last_band, band);
}

static void test_siginfo(void)
{
	struct waker w = clocked_open(0);

	catch(SIGIO);
	catch(SIGCHLD);
	catch(SIG_RT);
	set_async(w.fd, SIG_RT, 1);
	burn_through(&w, 1);
	expect_info(SIG_RT, POLL_HUP, w.fd, BAND_HUP);
	burn_through(&w, 3);
	expect(first_code, POLL_IN);
	expect_info(SIG_RT, POLL_HUP, w.fd, BAND_HUP);
	taken = 0;
	expect(ioctl(w.fd, PERF_EVENT_IOC_REFRESH, 1000), 0);
	burn_until(taken >= 2);
	expect(ioctl(w.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	expect_info(SIG_RT, POLL_IN, w.fd, BAND_IN);
	waker_close(&w);

	/*
	 * Without F_SETSIG there is no siginfo; with it, SIGIO has one, and numbers whose codes mean something say
	 * SI_SIGIO.
	 */
	w = clocked_open(0);
	set_async(w.fd, 0, 1);
	burn_through(&w, 2);
	expect(last_signo, SIGIO);
	expect(last_code, SI_KERNEL);
	set_async(w.fd, SIGIO, 1);
	burn_through(&w, 1);
	expect_info(SIGIO, POLL_HUP, w.fd, BAND_HUP);
	set_async(w.fd, SIGCHLD, 1);
	burn_through(&w, 1);
	expect_info(SIGCHLD, SI_SIGIO, w.fd, BAND_HUP);
	signal(SIGCHLD, SIG_DFL);
	waker_close(&w);
}

/* One overflow of which nobody is told. */
static void burn_unnoticed(struct waker *w)
{
	u64 begin = w->page->data_head;

	taken = 0;
	expect(ioctl(w->fd, PERF_EVENT_IOC_REFRESH, 1), 0);
	burn_until(*(volatile __u64 *)&w->page->data_head != begin);
	for (volatile int i = 0; i < 1000000; i++)
		;
}

static void test_off(void)
{
	struct waker w = clocked_open(0), named = named_open(0);
	int on = 1, off = 0, copy = dup(w.fd);

	set_async(w.fd, SIG_RT, 1);
	set_async(w.fd, SIG_RT, 0);
	burn_unnoticed(&w);
	change_name();
	expect(taken, 0);
	set_async(named.fd, SIG_RT, 1);
	change_name();
	expect(taken, 1);
	expect_info(SIG_RT, POLL_IN, named.fd, BAND_IN);
	/* si_fd is the descriptor by which it was set. */
	expect(ioctl(copy, FIOASYNC, &on), 0);
	expect(!!(fcntl(w.fd, F_GETFL) & O_ASYNC), 1);
	set_async(w.fd, SIG_RT, 1);
	burn_through(&w, 1);
	expect(last_fd, copy);
	close(copy);
	burn_through(&w, 1);
	expect(last_fd, copy);
	expect(ioctl(w.fd, FIOASYNC, &off), 0);
	expect(!!(fcntl(w.fd, F_GETFL) & O_ASYNC), 0);
	expect(ioctl(w.fd, FIONBIO, &on), 0);
	expect(!!(fcntl(w.fd, F_GETFL) & O_NONBLOCK), 1);
	/* Nobody is told. */
	expect(set(w.fd, F_SETFL, O_ASYNC), 0);
	expect(set(w.fd, F_SETOWN, 0), 0);
	burn_unnoticed(&w);
	expect(taken, 0);
	waker_close(&w);
	waker_close(&named);
}

/* While it is blocked each signal of a real-time number waits, of others one; sigwaitinfo takes it. */
static void test_blocked(void)
{
	struct waker w = clocked_open(0);
	struct timespec none = {0, 0};
	int signo = -1;
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIG_RT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	set_async(w.fd, SIG_RT, 1);
	taken = 0;
	expect(ioctl(w.fd, PERF_EVENT_IOC_REFRESH, 20), 0);
	for (clock_t end = clock() + CLOCKS_PER_SEC / 20; clock() < end;)
		;
	/* On a busy host none may have come yet. */
	burn_until(signo >= 0 || (signo = sigtimedwait(&set, &info, &none)) >= 0);
	expect(signo, SIG_RT);
	expect(info.si_code, POLL_IN);
	expect(info.si_fd, w.fd);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	burn_until(taken >= 19);
	expect(taken, 19);
	expect_info(SIG_RT, POLL_HUP, w.fd, BAND_HUP);
	waker_close(&w);
}

static volatile int other_tid, other_ends;

static void *other(void *arg)
{
	other_tid = (int)syscall(SYS_gettid);
	while (!other_ends)
		sleep_ms(1);
	return NULL;
}

static void test_thread(void)
{
	struct waker w = clocked_open(0);
	struct f_owner_ex owner = {F_OWNER_TID, 0}, got = {0, 0};
	pthread_t thread;

	other_tid = other_ends = 0;
	pthread_create(&thread, NULL, other, NULL);
	burn_until(other_tid);
	set_async(w.fd, SIG_RT, 1);
	owner.pid = other_tid;
	expect(fcntl(w.fd, F_SETOWN_EX, &owner), 0);
	expect(fcntl(w.fd, F_GETOWN_EX, &got), 0);
	expect(got.type, F_OWNER_TID);
	expect(got.pid, other_tid);
	burn_through(&w, 3);
	expect(last_tid, other_tid);
	expect(first_code, POLL_IN);
	expect_info(SIG_RT, POLL_HUP, w.fd, BAND_HUP);
	owner.pid = (int)syscall(SYS_gettid);
	expect(fcntl(w.fd, F_SETOWN_EX, &owner), 0);
	burn_through(&w, 3);
	expect(last_tid, owner.pid);
	other_ends = 1;
	pthread_join(thread, NULL);
	waker_close(&w);
}

/* A child's overflows signal its parent, many of them. */
static void test_child(void)
{
	struct told c = told_new();
	struct waker w = clocked_open(c.pid);

	set_async(w.fd, SIG_RT, 1);
	taken = 0;
	expect(ioctl(w.fd, PERF_EVENT_IOC_REFRESH, 40), 0);
	for (double end = seconds() + 10; taken < 40 && seconds() < end;)
		told(&c, 'b');
	expect(taken, 40);
	expect(first_code, POLL_IN);
	expect_info(SIG_RT, POLL_HUP, w.fd, BAND_HUP);
	set_async(w.fd, 0, 1);
	taken = 0;
	expect(ioctl(w.fd, PERF_EVENT_IOC_REFRESH, 40), 0);
	for (double end = seconds() + 10; fcntl(w.fd, F_GETFL) && taken < 20 && seconds() < end;)
		told(&c, 'b');
	expect(taken >= 20, 1);
	expect(last_signo, SIGIO);
	waker_close(&w);
	told_end(&c);
}

#define BURSTS 20

/* Each of many wakeups in a row is a signal in the queue, though another task is told, and it blocks them meanwhile. */
static void test_queued(void)
{
	struct told c = told_new();
	struct waker w = named_open(c.pid);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIG_RT);
	set_async(w.fd, SIG_RT, 1);
	for (int i = 1; i <= BURSTS; i++) {
		taken = 0;
		told(&c, 'm');
		burn_until(taken >= TOLD_MANY);
		expect(taken, TOLD_MANY);
		expect_info(SIG_RT, POLL_IN, w.fd, BAND_IN);
	}
	taken = 0;
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < BURSTS; i++)
		told(&c, 'm');
	expect(taken, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	expect(taken, BURSTS * TOLD_MANY);
	waker_close(&w);
	told_end(&c);
}

static volatile int bursts;

static void *burst(void *arg)
{
	sigset_t set;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	other_tid = (int)syscall(SYS_gettid);
	for (int done = 0; !other_ends;) {
		if (done == bursts) {
			sleep_ms(1);
			continue;
		}
		for (int i = 0; i < TOLD_MANY; i++)
			change_name();
		done++;
	}
	return NULL;
}

/* The same by another thread of the process. */
static void test_queued_by_thread(int type)
{
	struct f_owner_ex owner = {type, type == F_OWNER_TID ? (int)syscall(SYS_gettid) : getpid()};
	struct waker w;
	pthread_t thread;

	other_tid = other_ends = bursts = taken = 0;
	pthread_create(&thread, NULL, burst, NULL);
	burn_until(other_tid);
	w = named_open(other_tid);
	set_async(w.fd, SIG_RT, 1);
	expect(fcntl(w.fd, F_SETOWN_EX, &owner), 0);
	while (bursts < BURSTS) {
		bursts++;
		burn_until(taken >= bursts * TOLD_MANY);
		expect(taken, bursts * TOLD_MANY);
	}
	other_ends = 1;
	pthread_join(thread, NULL);
	waker_close(&w);
}

/* Somebody polls too: both are told. */
static void test_poll(void)
{
	struct told c = told_new();
	struct waker w = clocked_open(c.pid), named = named_open(c.pid);
	struct pollfd p[2] = {{w.fd, POLLIN, 0}, {named.fd, POLLIN, 0}};

	set_async(w.fd, SIG_RT, 1);
	set_async(named.fd, SIG_RT, 1);
	taken = 0;
	tell_later(&c, 'n');
	expect(poll(p, 2, 10000), 1);
	expect(p[1].revents, POLLIN);
	told_answer(&c);
	expect(taken, 1);
	expect_info(SIG_RT, POLL_IN, named.fd, BAND_IN);
	expect(ioctl(w.fd, PERF_EVENT_IOC_REFRESH, 1), 0);
	tell_later(&c, 'b');
	expect(poll(p, 2, 10000), 1);
	expect(p[0].revents, POLLIN);
	told_answer(&c);
	expect(taken, 2);
	expect_info(SIG_RT, POLL_HUP, w.fd, BAND_HUP);
	/* The end is a wakeup, but no signal. */
	waker_close(&named);
	tell_later(&c, 'x');
	expect(poll(p, 1, 10000), 1);
	expect(p[0].revents, POLLHUP);
	told_answer(&c);
	expect(taken, 2);
	waker_close(&w);
	told_end(&c);
}

/* ---- where samples are exact, the signal comes before the next instruction ---- */

extern char loop_inc[], loop_cmp[], loop_jump[];
static volatile u64 signal_ip;

static void on_overflow(int signo, siginfo_t *info, void *uc)
{
	signal_ip = (u64)((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
	taken++;
}

static u64 after(u64 ip)
{
	if (ip == (u64)loop_inc)
		return (u64)loop_cmp;
	return ip == (u64)loop_cmp ? (u64)loop_jump : (u64)loop_inc;
}

static void expect_next(struct perf_attr *a)
{
	struct sampler s = sampler_open(a, -1);

	set_async((int)s.fd, SIG_RT, 1);
	taken = 0;
	expect(ioctl((int)s.fd, PERF_EVENT_IOC_REFRESH, 1), 0);
	__asm__ volatile("mov $10000, %%ecx\n"
			 "loop_inc: inc %%rax\n"
			 "loop_cmp: dec %%ecx\n"
			 "loop_jump: jnz loop_inc" ::: "rax", "rcx", "cc");
	expect(taken, 1);
	expect(signal_ip, after(((u64 *)((char *)s.page + 4096))[2]));
	sampler_close(&s);
}

static void test_exact(void)
{
	struct sigaction act = {.sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO};
	struct perf_attr a = insns_attr(3000);

	if (!have_pmu())
		return;
	sigaction(SIG_RT, &act, NULL);
	for (u64 period = 3000; period < 3010; period++) {
		a.sample_period = period;
		expect_next(&a);
	}
}

int main(void)
{
	test_siginfo();
	test_off();
	test_blocked();
	test_thread();
	test_child();
	test_queued();
	test_queued_by_thread(F_OWNER_PID);
	test_queued_by_thread(F_OWNER_TID);
	test_poll();
	test_exact();
	return perf_result();
}
