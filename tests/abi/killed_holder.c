/*
 * A child that inherited an event's descriptor dies by a signal, and nobody waits for it: the event ends with the
 * last descriptor of those who live. Here each store would trap.
 */
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include "tests/abi/breakpoint.h"

#define ROUNDS 20

static volatile int traps;
static volatile long watched;

static void on_trap(int signo, siginfo_t *info, void *context)
{
	traps++;
}

static int open_trap(void)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_W, &watched, sizeof(watched));
	long fd;

	a.sample_period = 1;
	a.sigtrap = a.remove_on_exec = 1;
	fd = perf_open(&a, 0, -1, -1, 0);

	expect(fd >= 0, 1);
	return (int)fd;
}

static int traps_of(int stores)
{
	traps = 0;
	for (int i = 0; i < stores; i++)
		watched = i;
	return traps;
}

static int child_that_waits(void)
{
	int pid = fork();

	while (!pid)
		pause();
	return pid;
}

static void await_zombie(int pid)
{
	siginfo_t info;

	expect(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

/* Without a wait: its pidfd is readable. */
static void await_end(int pid)
{
	struct pollfd p = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};

	expect(p.fd >= 0, 1);
	expect(poll(&p, 1, 10000), 1);
	close(p.fd);
}

static void await_all(const int *pid, int n)
{
	for (int i = 0; i < n; i++)
		await_end(pid[i]);
}

static void dead_before_close(int signo, int look)
{
	int fd = open_trap(), pid = child_that_waits();

	expect(traps_of(3), 3);
	kill(pid, signo);
	if (look)
		await_zombie(pid);
	else
		await_end(pid);
	expect(traps_of(3), 3);
	close(fd);
	expect(traps_of(100), 0);
	waitpid(pid, NULL, 0);
}

static void by_close_range(void)
{
	int fd = open_trap(), pid = child_that_waits();

	kill(pid, SIGKILL);
	await_end(pid);
	syscall(SYS_close_range, fd, fd, 0);
	expect(traps_of(100), 0);
	waitpid(pid, NULL, 0);
}

/* Another file in its place. */
static void by_dup2(void)
{
	int fd = open_trap(), pid = child_that_waits();

	kill(pid, SIGKILL);
	await_end(pid);
	dup2(1, fd);
	expect(traps_of(100), 0);
	close(fd);
	waitpid(pid, NULL, 0);
}

/* As long as one lives that has it, the event goes on. */
static void held_by_another(void)
{
	int fd = open_trap(), dead = child_that_waits(), alive = child_that_waits();

	kill(dead, SIGKILL);
	await_end(dead);
	close(fd);
	expect(traps_of(3), 3);
	kill(alive, SIGKILL);
	await_end(alive);
	for (time_t end = time(NULL) + 5; traps_of(100) && time(NULL) < end;)
		;
	expect(traps_of(100), 0);
	waitpid(dead, NULL, 0);
	waitpid(alive, NULL, 0);
}

/* Just killed: one that is on its way to its end, and had no chance to say so. */
static void killed_at_close(void)
{
	int fd = open_trap(), pid[8];

	for (int i = 0; i < 8; i++)
		pid[i] = child_that_waits();
	for (int i = 0; i < 8; i++)
		kill(pid[i], SIGKILL);
	close(fd);
	await_all(pid, 8);
	expect(traps_of(100), 0);
	for (int i = 0; i < 8; i++)
		waitpid(pid[i], NULL, 0);
}

/* Wherever a child is between fork and exec, which closes the descriptor, when it is killed. */
static void killed_in_exec(void)
{
	int fd = open_trap(), pid[10];

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	for (int i = 0; i < 10; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			execl("/proc/self/exe", "sleeper", NULL);
			_exit(1);
		}
	}
	nanosleep(&(struct timespec){0, rand() % 10000000}, NULL);
	for (int i = 0; i < 10; i++)
		kill(pid[i], SIGKILL);
	close(fd);
	await_all(pid, 10);
	expect(traps_of(100), 0);
	for (int i = 0; i < 10; i++)
		waitpid(pid[i], NULL, 0);
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	if (!strcmp(argv[0], "sleeper"))
		return sleep(100);
	bp_skip_without();
	sigaction(SIGTRAP, &act, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		dead_before_close(SIGKILL, 0);
		killed_at_close();
		killed_in_exec();
	}
	dead_before_close(SIGTERM, 1);
	dead_before_close(SIGKILL, 1);
	by_close_range();
	by_dup2();
	held_by_another();
	return perf_result();
}
