/*
 * Whom the signals of an event's wakeups are for, where that is not the process's first thread: F_SETOWN and
 * F_OWNER_PID with the id of another thread (to its process), F_OWNER_TID, process groups; and what F_GETOWN and
 * F_GETOWN_EX say of each.
 */
#include <pthread.h>
#include "tests/abi/errno/perf.h"
#include "tests/abi/wakeup.h"

#define SIG_RT (SIGRTMIN + 3)
#define ROUNDS 100

static volatile int taken, last_tid, last_code;

static void on_signal(int signo, siginfo_t *info, void *uc)
{
	last_tid = (int)syscall(SYS_gettid);
	last_code = info->si_code;
	__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
}

static struct waker async_open(void)
{
	struct waker w = clocked_open(0);

	expect(fcntl(w.fd, F_SETSIG, SIG_RT), 0);
	expect(fcntl(w.fd, F_SETFL, O_RDWR | O_ASYNC), 0);
	return w;
}

static void burn_through(struct waker *w, int n)
{
	taken = 0;
	expect(ioctl(w->fd, PERF_EVENT_IOC_REFRESH, n), 0);
	burn_until(taken >= n);
	expect(taken, n);
}

/* One may come twice under pcl, if its sender does not run for milliseconds just then (doc/linux-quirks.md). */
static void burn_for_group(struct waker *w, int n)
{
	taken = 0;
	expect(ioctl(w->fd, PERF_EVENT_IOC_REFRESH, n), 0);
	burn_until(taken >= n);
	sleep_ms(1);
	expect(taken == n || taken == n + 1, 1);
}

static void expect_owner(int fd, int type, int pid)
{
	struct f_owner_ex got = {-1, -1};

	expect(fcntl(fd, F_GETOWN_EX, &got), 0);
	expect(got.type, type);
	expect(got.pid, pid);
}

static int set_ex(int fd, int type, int pid)
{
	struct f_owner_ex owner = {type, pid};

	return fcntl(fd, F_SETOWN_EX, &owner) ? -errno : 0;
}

static int set_own(int fd, int pid)
{
	return fcntl(fd, F_SETOWN, pid) ? -errno : 0;
}

/* Linux quirk: a thread that does not lead may own by F_SETOWN, and F_GETOWN says nobody. */
static void by_thread(void)
{
	int tid = (int)syscall(SYS_gettid);
	struct waker w = async_open();

	expect(set_own(w.fd, tid), 0);
	expect(fcntl(w.fd, F_GETOWN), 0);
	expect_owner(w.fd, F_OWNER_PID, 0);
	burn_through(&w, ROUNDS);
	expect(last_code, POLL_HUP);
	/* What comes after does not change whom. */
	expect(fcntl(w.fd, F_SETSIG, SIG_RT + 1), 0);
	expect(fcntl(w.fd, F_GETSIG), SIG_RT + 1);
	burn_through(&w, 3);
	expect(fcntl(w.fd, F_SETSIG, SIG_RT), 0);
	expect(set_ex(w.fd, F_OWNER_PID, tid), 0);
	expect(fcntl(w.fd, F_GETOWN), 0);
	burn_through(&w, 3);
	expect(set_ex(w.fd, F_OWNER_TID, tid), 0);
	expect_owner(w.fd, F_OWNER_TID, tid);
	burn_through(&w, 3);
	expect(last_tid, tid);
	expect(set_own(w.fd, getpid()), 0);
	expect(fcntl(w.fd, F_GETOWN), getpid());
	expect_owner(w.fd, F_OWNER_PID, getpid());
	burn_through(&w, 3);
	waker_close(&w);
}

static void by_group(void)
{
	struct waker w = async_open();

	expect(set_own(w.fd, -getpgrp()), 0);
	expect_owner(w.fd, F_OWNER_PGRP, getpgrp());
	burn_for_group(&w, 3);
	expect(set_own(w.fd, 0), 0);
	expect_owner(w.fd, F_OWNER_PID, 0);
	expect(set_ex(w.fd, F_OWNER_PGRP, getpgrp()), 0);
	expect_owner(w.fd, F_OWNER_PGRP, getpgrp());
	burn_for_group(&w, 3);
	waker_close(&w);
}

/* What is refused leaves the owner as it is. */
static void refusals(void)
{
	int tid = (int)syscall(SYS_gettid);
	struct waker w = async_open();

	expect(set_own(w.fd, tid), 0);
	expect(set_ex(w.fd, 3, tid), -EINVAL);
	expect(set_ex(w.fd, F_OWNER_TID, 1 << 22), -ESRCH);
	expect(set_own(w.fd, 1 << 22), -ESRCH);
	expect(set_own(w.fd, -(1 << 22)), -ESRCH);
	expect(set_own(w.fd, (int)0x80000000), -EINVAL);
	expect(fcntl(w.fd, F_SETOWN_EX, (void *)8) ? errno : 0, EFAULT);
	burn_through(&w, 3);
	/* Nobody is told any more. */
	expect(set_ex(w.fd, F_OWNER_TID, 0), 0);
	taken = 0;
	expect(ioctl(w.fd, PERF_EVENT_IOC_REFRESH, 1), 0);
	for (volatile int i = 0; i < 5000000; i++)
		;
	expect(taken, 0);
	waker_close(&w);
}

static void *thread(void *arg)
{
	by_thread();
	by_group();
	refusals();
	return NULL;
}

/* The owner is another thread than the one that is measured, and neither leads. */
static volatile int other_tid, other_ends;

static void *other(void *arg)
{
	other_tid = (int)syscall(SYS_gettid);
	while (!other_ends)
		sleep_ms(1);
	return NULL;
}

static void *measured(void *arg)
{
	struct waker w = async_open();

	expect(set_own(w.fd, other_tid), 0);
	burn_through(&w, 10);
	expect(set_ex(w.fd, F_OWNER_PID, other_tid), 0);
	burn_through(&w, 10);
	waker_close(&w);
	return NULL;
}

static void run(void *(*f)(void *))
{
	pthread_t id;

	pthread_create(&id, NULL, f, NULL);
	pthread_join(id, NULL);
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	pthread_t id;

	setpgid(0, 0);
	sigaction(SIG_RT, &act, NULL);
	sigaction(SIG_RT + 1, &act, NULL);
	run(thread);
	pthread_create(&id, NULL, other, NULL);
	burn_until(other_tid);
	run(measured);
	other_ends = 1;
	pthread_join(id, NULL);
	return perf_result();
}
