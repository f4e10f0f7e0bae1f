/*
 * Staying as the guest's parent; see stay.h.
 *
 * The parent blocks all signals and takes them one by one:
 *   from the terminal (SI_KERNEL)   they reached the guest too, as a member of the same process group: dropped
 *   SIGCHLD                         the guest stopped: the parent stops itself, so that the shell sees the job stop,
 *                                   unless it was stopped too and is the first of the two to be continued; the guest
 *                                   ended: done
 *   all others                      somebody sent them to pcl and means the guest: passed on
 * Who stops only the guest must continue the parent, which continues the guest; a guest that is continued alone leaves
 * it stopped. A signal sent with kill(2) to the whole process group reaches the guest twice; the kernel does not say
 * who else got it.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli/launch.h"
#include "cli/stay.h"

/* What is taken; what was blocked and what was ignored when this process began. */
static sigset_t all, before, ignored;

void stay_end_as(int status)
{
	sigset_t set;
	int sig;

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	kill(getpid(), sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + sig);
}

/* A SIGCONT that is not passed on yet. */
static int is_continued(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGCONT);
}

/* By the same signal as the guest, which the shell shows as the job's status. All are blocked, and none is handled. */
static void stop_by(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* SIGCHLDs coalesce, so each one means: look at everything that happened. True: the child has ended. */
static bool look_at_child(pid_t child, int *status)
{
	while (waitpid(child, status, WNOHANG | WUNTRACED) == child) {
		if (!WIFSTOPPED(*status))
			return true;
		if (!is_continued())
			stop_by(WSTOPSIG(*status));
	}
	return false;
}

/* Of the first fork: the parent takes ignored signals too from then on. */
static void remember_signals(void)
{
	static bool remembered;
	struct sigaction action;

	if (remembered)
		return;
	remembered = true;
	sigemptyset(&ignored);
	for (int sig = 1; sig < NSIG; sig++)
		if (!sigaction(sig, NULL, &action) && action.sa_handler == SIG_IGN)
			sigaddset(&ignored, sig);
	sigprocmask(SIG_SETMASK, NULL, &before);
}

static void restore_signals(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&ignored, sig) > 0)
			signal(sig, SIG_IGN);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Ignored signals would not be taken by sigwaitinfo(), and with SIGCHLD ignored a child would leave no status. */
static void take_all_signals(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
}

pid_t stay_fork(void)
{
	pid_t child;

	remember_signals();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL);
	child = fork();
	if (child < 0)
		fprintf(stderr, "pcl: cannot fork: %s\n", strerror(errno));
	if (child <= 0)
		restore_signals();
	return child;
}

int stay_wait(pid_t child, void (*now_and_then)(void *), void *arg)
{
	static const struct timespec interval = {.tv_nsec = 20000000};
	int status;

	take_all_signals();
	while (!look_at_child(child, &status)) {
		siginfo_t info;
		int sig = now_and_then ? sigtimedwait(&all, &info, &interval) : sigwaitinfo(&all, &info);

		if (sig > 0 && sig != SIGCHLD && info.si_code != SI_KERNEL)
			kill(child, sig);
		if (now_and_then)
			now_and_then(arg);
	}
	return status;
}

int stay_as_parent(int (*at_end)(void))
{
	pid_t child = stay_fork();
	int status;

	if (child <= 0)
		return (int)child;
	status = stay_wait(child, NULL, NULL);
	if (at_end())
		_exit(LAUNCH_FAILED);
	stay_end_as(status);
}
