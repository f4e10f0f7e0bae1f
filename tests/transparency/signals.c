/* Signals: siginfo, masks, alternate stacks, waiting, timers, real-time queues, handlers that reset, children. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t got;
static char alternate[32768];

static void info(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	stack_t now;
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigaltstack(NULL, &now);
	printf("signal %d code %d pid %d uid %d value %d on-alternate %d flags %d masked %d saved-mask %d "
	       "rsp-on-alternate %d\n",
	       sig, si->si_code, si->si_code <= 0 ? si->si_pid == getpid() : -1,
	       si->si_code <= 0 ? si->si_uid == getuid() : -1, si->si_code == SI_QUEUE ? si->si_value.sival_int : 0,
	       (now.ss_flags & SS_ONSTACK) != 0, uc->uc_stack.ss_flags, sigismember(&mask, sig),
	       sigismember(&uc->uc_sigmask, SIGUSR2),
	       (char *)&now >= alternate && (char *)&now < alternate + sizeof(alternate));
	got++;
}

static void again(int sig)
{
	static int depth;

	depth++;
	printf("depth %d\n", depth);
	if (depth < 3)
		raise(sig);
	depth--;
}

static void on(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = flags };

	sigaction(sig, &sa, NULL);
}

int main(void)
{
	stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction old;
	struct timespec t = { 0, 50000000 };
	siginfo_t si;
	sigset_t set, none;
	struct pollfd p;
	int fd, status;
	pid_t pid;

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("none, as it is: %d\n", sigaltstack(&(stack_t){0}, NULL));
	sigaltstack(&ss, NULL);
	printf("the same: %d\n", sigaltstack(&ss, NULL));
	on(SIGUSR1, info, SA_SIGINFO);
	raise(SIGUSR1);
	on(SIGUSR1, info, SA_SIGINFO | SA_ONSTACK);
	raise(SIGUSR1);
	sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 55 });
	on(SIGUSR1, info, SA_SIGINFO | SA_RESETHAND);
	raise(SIGUSR1);
	sigaction(SIGUSR1, NULL, &old);
	printf("reset %d\n", old.sa_handler == SIG_DFL);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = again, .sa_flags = SA_NODEFER }, NULL);
	raise(SIGUSR1);
	sigaction(SIGUSR1, NULL, &old);
	printf("flags %x handler %d\n", old.sa_flags & ~0x04000000, old.sa_handler == again);
	/* blocked, pending, order of delivery */
	sigemptyset(&none);
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	on(SIGRTMIN, info, SA_SIGINFO);
	on(SIGRTMIN + 3, info, SA_SIGINFO);
	on(SIGUSR2, info, SA_SIGINFO);
	for (int i = 0; i < 3; i++)
		sigqueue(getpid(), SIGRTMIN + 3 * (i & 1), (union sigval){ .sival_int = i });
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGUSR2);
	sigpending(&set);
	printf("pending %d %d %d\n", sigismember(&set, SIGUSR2), sigismember(&set, SIGRTMIN),
	       sigismember(&set, SIGUSR1));
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* sigsuspend, sigtimedwait, signalfd, ppoll */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR2);
	printf("sigsuspend %d", sigsuspend(&none));
	printf(" %d\n", errno == EINTR);
	raise(SIGUSR2);
	printf("sigtimedwait %d", sigtimedwait(&set, &si, &t));
	printf(" %d\n", si.si_code);
	printf("sigtimedwait %d", sigtimedwait(&set, &si, &t));
	printf(" %d\n", errno == EAGAIN);
	fd = signalfd(-1, &set, 0);
	raise(SIGUSR2);
	p = (struct pollfd){ fd, POLLIN, 0 };
	printf("poll %d", poll(&p, 1, 1000));
	struct signalfd_siginfo sfi;
	printf(" read %zd", read(fd, &sfi, sizeof(sfi)));
	printf(" signo %d\n", sfi.ssi_signo);
	raise(SIGUSR2);
	printf("ppoll %d", ppoll(NULL, 0, NULL, &none));
	printf(" %d\n", errno == EINTR);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* interrupted sleep and read */
	on(SIGALRM, info, SA_SIGINFO);
	alarm(1);
	printf("sleep %d", nanosleep(&(struct timespec){ 5, 0 }, &t));
	printf(" %d left %d\n", errno == EINTR, t.tv_sec >= 3);
	/* children */
	on(SIGCHLD, info, SA_SIGINFO);
	pid = fork();
	if (!pid) {
		raise(SIGUSR1);
		signal(SIGTERM, SIG_DFL);
		raise(SIGTERM);
		_exit(1);
	}
	while (waitpid(pid, &status, 0) < 0)
		printf("waitpid EINTR %d\n", errno == EINTR);
	printf("child %x\n", status);
	signal(SIGCHLD, SIG_IGN);
	if (!fork())
		_exit(3);
	printf("wait %d", wait(&status));
	printf(" %d\n", errno == ECHILD);
	/* errors */
	printf("%d %d %d", sigaction(SIGKILL, &(struct sigaction){0}, NULL), sigaction(65, NULL, NULL),
	       kill(getpid(), 999));
	ss.ss_size = 100;
	printf(" %d", sigaltstack(&ss, NULL));
	printf(" %d\n", errno == ENOMEM);
	printf("%d\n", got);
	return 0;
}
