/*
 * Staying as the guest's parent; see stay.h.
 *
 * The parent blocks all signals and takes them one by one:
 *   from the terminal (SI_KERNEL)   they reached the guest too, as a member of the same process group: dropped
 *   SIGCHLD                         the guest stopped: the parent stops itself, so that the shell sees the job stop, unless
 *                                   it was stopped too and is the first of the two to be continued;
 *                                   the guest ended: done
 *   all others                      somebody sent them to pcl and means the guest: passed on
 * Who stops only the guest must continue the parent, which continues the guest; a guest that is continued alone leaves it stopped.
 * A signal sent with kill(2) to the whole process group reaches the guest twice; the kernel does not say who else got it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/stay.h"
#include "cli/launch.h"

/* Ends this process as status says, without a core file of its own. */
static void __attribute__((noreturn)) end_as(int status)
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

/* SIGCHLDs coalesce, so each one means: look at everything that happened. */
static void look_at_child(pid_t child, void (*at_end)(void))
{
	int status;

	while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
		if (WIFSTOPPED(status)) {
			if (!is_continued())
				raise(SIGSTOP);
			continue;
		}
		at_end();
		end_as(status);
	}
}

static void __attribute__((noreturn)) serve(pid_t child, const sigset_t *all, void (*at_end)(void))
{
	for (;;) {
		siginfo_t info;
		int sig = sigwaitinfo(all, &info);

		if (sig == SIGCHLD)
			look_at_child(child, at_end);
		else if (sig > 0 && info.si_code != SI_KERNEL)
			kill(child, sig);
	}
}

int stay_as_parent(void (*at_end)(void))
{
	void (*on_child)(int) = signal(SIGCHLD, SIG_DFL); /* ignored, the child would leave no status */
	sigset_t all, before;
	pid_t child;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child < 0)
		fprintf(stderr, "pcl: cannot fork: %s\n", strerror(errno));
	if (child <= 0) {
		signal(SIGCHLD, on_child);
		sigprocmask(SIG_SETMASK, &before, NULL);
		return (int)child;
	}
	/* Ignored signals would not be taken by sigwaitinfo(). */
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	look_at_child(child, at_end);
	serve(child, &all, at_end);
}
