/* Signals and blocking system calls: temporary masks, EINTR and restart, remaining times, sigwait, synchronous signals
 * that are blocked or ignored and sent by kill. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static sigset_t all, none;

static void nested(int sig, siginfo_t *si, void *context)
{
	static int depth;

	printf("%*sin %d mask %lx value %d\n", depth, "", sig, *(unsigned long *)&((ucontext_t *)context)->uc_sigmask,
	       si->si_value.sival_int);
	depth++;
	if (sig == SIGUSR1)
		raise(SIGUSR2);
	if (sig == SIGUSR2)
		raise(SIGHUP);
	depth--;
	printf("%*sout %d\n", depth, "", sig);
}

static void tick(int sig)
{
	ticks++;
}

static void queue(int sig, int value)
{
	sigqueue(getpid(), sig, (union sigval){ value });
}

static void masks(void)
{
	struct sigaction sa = { .sa_sigaction = nested, .sa_flags = SA_SIGINFO };
	struct timespec second = { 1, 0 };
	struct epoll_event event;
	int epoll = epoll_create1(0), ret;
	sigset_t old;

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGRTMIN + 1, &sa, NULL);
	raise(SIGUSR1);
	sigaddset(&sa.sa_mask, SIGUSR2);
	sigaddset(&sa.sa_mask, SIGHUP);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	sigprocmask(SIG_SETMASK, &all, &old);
	queue(SIGUSR1, 5);
	queue(SIGHUP, 6);
	queue(SIGUSR2, 7);
	ret = sigsuspend(&none);
	printf("sigsuspend %d %d\n", ret, errno);
	queue(SIGHUP, 8);
	ret = ppoll(NULL, 0, NULL, &none);
	printf("ppoll %d %d\n", ret, errno);
	queue(SIGHUP, 9);
	ret = pselect(0, NULL, NULL, NULL, &second, &none);
	printf("pselect %d %d\n", ret, errno);
	queue(SIGHUP, 10);
	ret = epoll_pwait(epoll, &event, 1, 1000, &none);
	printf("epoll_pwait %d %d\n", ret, errno);
	printf("ppoll, bad size %ld %d\n", syscall(SYS_ppoll, NULL, 0, NULL, &none, 7), errno);
	printf("ppoll, bad mask %ld %d\n", syscall(SYS_ppoll, NULL, 0, NULL, 16, 8), errno);
	for (int i = 0; i < 3; i++)
		queue(SIGRTMIN + 1, i);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void alarm_in(long us)
{
	struct itimerval it = { { 0, 0 }, { 0, us } };

	setitimer(ITIMER_REAL, &it, NULL);
}

static void restarts(void)
{
	struct sigaction sa = { .sa_handler = tick };
	struct timespec wait = { 0, 100000000 }, left = { 0, 0 };
	struct pollfd fd;
	int p[2], ret;
	pid_t pid;
	char c;

	if (pipe(p))
		return;
	sigaction(SIGALRM, &sa, NULL);
	alarm_in(20000);
	ret = (int)read(p[0], &c, 1);
	printf("read %d %d\n", ret, errno);
	sa.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &sa, NULL);
	pid = fork();
	if (!pid) {
		usleep(80000);
		_exit(write(p[1], "x", 1) != 1);
	}
	alarm_in(20000);
	ret = (int)read(p[0], &c, 1);
	printf("read with SA_RESTART %d, handlers %d\n", ret, ticks);
	waitpid(pid, NULL, 0);
	alarm_in(20000);
	ret = nanosleep(&wait, &left);
	printf("nanosleep %d %d, time left plausible %d\n", ret, errno,
	       left.tv_nsec > 20000000 && left.tv_nsec < 90000000);
	alarm_in(20000);
	fd = (struct pollfd){ p[0], POLLIN, 0 };
	ret = poll(&fd, 1, 1000);
	printf("poll %d %d\n", ret, errno);
}

static void *waiter(void *arg)
{
	siginfo_t si;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	for (int i = 0; i < 5; i++)
		printf("waited for %d", sigwaitinfo(&set, &si) - SIGRTMIN),
			printf(" value %d\n", si.si_value.sival_int);
	return NULL;
}

static void sigwaits(void)
{
	struct timespec now = { 0, 0 };
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, waiter, NULL);
	for (int i = 0; i < 5; i++)
		queue(SIGRTMIN, i);
	pthread_join(thread, NULL);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGSEGV);
	printf("a sent SIGSEGV: %d", sigtimedwait(&set, NULL, &now));
	printf(", again: %d", sigtimedwait(&set, NULL, &now));
	printf(" %d\n", errno);
}

static void sent_and_blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGBUS);
	sigpending(&set);
	printf("pending %d\n", sigismember(&set, SIGBUS));
	signal(SIGBUS, SIG_IGN);
	sigpending(&set);
	printf("ignored and pending %d\n", sigismember(&set, SIGBUS));
	signal(SIGBUS, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	fflush(stdout);
	_exit(3);
}

static void over_exec(void)
{
	sigset_t set;

	signal(SIGTRAP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	sigprocmask(SIG_SETMASK, &set, NULL);
	execl("/bin/sh", "sh", "-c",
	      "grep -E 'SigBlk|SigIgn' /proc/self/status; kill -TRAP $$; kill -BUS $$; echo alive", NULL);
}

/* Signal 33 is the C library's; here it is the program's own. */
static void number_33(void)
{
	struct {
		unsigned long handler, flags, restorer, mask;
	} action = { .handler = 1 };

	syscall(SYS_rt_sigaction, 33, &action, NULL, 8);
	syscall(SYS_tgkill, getpid(), gettid(), 33);
	puts("ignored");
	fflush(stdout);
	action.handler = 0;
	syscall(SYS_rt_sigaction, 33, &action, NULL, 8);
	syscall(SYS_tgkill, getpid(), gettid(), 33);
}

static void child(const char *what, void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		fn();
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("%s: %x\n", what, status);
}

int main(void)
{
	sigfillset(&all);
	masks();
	restarts();
	sigwaits();
	child("sent, blocked, ignored", sent_and_blocked);
	child("over exec", over_exec);
	child("number 33", number_33);
	return 0;
}
