/* Of waits.c, which includes it: the steps that have to do with signals of events (O_ASYNC). */
#ifndef TESTS_FUZZ_WAITS_SIGNALS_H
#define TESTS_FUZZ_WAITS_SIGNALS_H

static sigset_t all_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGRTMIN + 1);
	return set;
}

static long do_async(const unsigned int *a)
{
	int fd = event[a[0] % EVENTS], on = a[1] % 3 != 0, flags = fcntl(fd, F_GETFL);

	if (a[2] % 2)
		return answer_of(ioctl(fd, FIOASYNC, &on));
	return answer_of(fcntl(fd, F_SETFL, on ? flags | O_ASYNC : flags & ~O_ASYNC));
}

static long do_signal(const unsigned int *a)
{
	int signals[] = {0, SIGUSR1, SIGIO, SIGRTMIN, SIGRTMIN, SIGRTMIN + 1, SIGCHLD, 65};

	return answer_of(fcntl(event[a[0] % EVENTS], F_SETSIG, signals[a[1] % COUNT(signals)]));
}

static long do_owner(const unsigned int *a)
{
	int fd = event[a[0] % EVENTS];
	struct f_owner_ex owner = {a[1] % 3 ? F_OWNER_TID : F_OWNER_PID, a[2] % 8 ? getpid() : 0};

	if (a[1] % 3 == 2)
		return answer_of(fcntl(fd, F_SETOWN, owner.pid));
	return answer_of(fcntl(fd, F_SETOWN_EX, &owner));
}

/* Which place a descriptor has. */
static int place_of(int fd)
{
	for (unsigned int i = 0; i < EVENTS; i++)
		if (event[i] >= 0 && event[i] == fd)
			return (int)i;
	return -1;
}

static void show_signal(int signo, int code, long band, int fd)
{
	if (signo == SIGIO && code == SI_KERNEL)
		printf("[IO] ");
	else if (signo == SIGCHLD && code > 0)
		printf("[CHLD] ");
	else
		printf("[%d code %d band %#lx of %d] ", signo, code, band, place_of(fd));
}

static long do_take(const unsigned int *a)
{
	sigset_t set = all_signals();
	struct timespec none = {0, 0};
	siginfo_t s;
	long n = 0;

	for (; n < 40 && sigtimedwait(&set, &s, &none) > 0; n++)
		show_signal(s.si_signo, s.si_code, s.si_band, s.si_fd);
	return n;
}

static long do_read_signals(const unsigned int *a)
{
	sigset_t set = all_signals();
	int fd = signalfd(-1, &set, SFD_NONBLOCK);
	struct signalfd_siginfo s;
	long n = 0;

	for (; n < 40 && read(fd, &s, sizeof(s)) == sizeof(s); n++)
		show_signal((int)s.ssi_signo, s.ssi_code, s.ssi_band, s.ssi_fd);
	close(fd);
	return n;
}

static void handler(int signo, siginfo_t *s, void *context)
{
	show_signal(signo, s->si_code, s->si_band, s->si_fd);
}

/* By handlers, all at once. */
static long do_handle(const unsigned int *a)
{
	sigset_t set = all_signals();

	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return 0;
}

static long do_pending(const unsigned int *a)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, SIGIO) | sigismember(&set, SIGUSR1) << 1 | sigismember(&set, SIGRTMIN) << 2 |
	       sigismember(&set, SIGRTMIN + 1) << 3;
}

#endif
