/* Nested handlers, on an alternate stack too, a mask that delays, a queue of real-time signals. */
#include "tests/count/region.h"
#include <signal.h>
#include <stdlib.h>

static int order[64], n;
static char alternate[65536];

static void inner(int sig)
{
	order[n++] = sig;
}

static void outer(int sig, siginfo_t *si, void *context)
{
	order[n++] = sig;
	if (sig == SIGUSR1)
		kill(getpid(), SIGUSR2);
	order[n++] = -sig;
}

int main(void)
{
	int fd = region_open();
	struct sigaction sa = { .sa_sigaction = outer, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	sigset_t set;

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_handler = inner;
	sa.sa_flags = 0;
	sigaction(SIGUSR2, &sa, NULL);
	sigaction(SIGRTMIN, &sa, NULL);
	sigaction(SIGRTMIN + 1, &sa, NULL);
	region_begin(fd, 1);
	for (int i = 0; i < 3; i++)
		kill(getpid(), SIGUSR1);
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 3; i++) {
		sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = i });
		sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i });
	}
	kill(getpid(), SIGUSR2);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	region_end(fd, 1);
	for (int i = 0; i < n; i++)
		printf("%d ", order[i] == SIGRTMIN ? 100 : order[i] == SIGRTMIN + 1 ? 101 : order[i]);
	printf("\n");
	region_print(1);
	return 0;
}
