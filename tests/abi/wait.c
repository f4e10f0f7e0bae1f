/*
 * Waiting for children while events are open: all forms of wait4 and waitid, and a killed child's time and count after
 * it.
 */
#include <pthread.h>
#include <stdint.h>
#include "tests/abi/errno/perf.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static long wait4_(int pid, int *status, int options)
{
	long ret = syscall(SYS_wait4, pid, status, options, NULL);

	return ret < 0 ? -errno : ret;
}

static long waitid_(int type, int id, siginfo_t *info, int options)
{
	return syscall(SYS_waitid, type, id, info, options, NULL) < 0 ? -errno : 0;
}

static int child_exits(int status)
{
	int pid = fork();

	if (!pid)
		_exit(status);
	return pid;
}

static int child_pauses(void)
{
	int pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

static void test_wait4(void)
{
	int status = 0, pid = child_exits(3), group;

	expect(wait4_(pid, &status, 0), pid);
	expect(WEXITSTATUS(status), 3);
	expect(wait4_(pid, &status, 0), -ECHILD);
	expect(wait4_(-1, &status, 0), -ECHILD);
	expect(wait4_(0, &status, 0), -ECHILD);
	expect(wait4_(-1, &status, 0x10), -EINVAL);
	expect(wait4_(INT32_MIN, &status, 0), -ESRCH);

	pid = child_exits(4);
	expect(wait4_(-1, &status, 0), pid);
	expect(WEXITSTATUS(status), 4);
	pid = child_exits(5);
	expect(wait4_(0, NULL, __WALL), pid);
	group = child_pauses();
	setpgid(group, group);
	expect(wait4_(-group, &status, WNOHANG), 0);
	expect(wait4_(0, &status, WNOHANG), -ECHILD);
	kill(group, SIGSTOP);
	expect(wait4_(-group, &status, WUNTRACED), group);
	expect(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, 1);
	expect(wait4_(-group, &status, WUNTRACED | WNOHANG), 0);
	kill(group, SIGCONT);
	expect(wait4_(group, &status, WCONTINUED), group);
	expect(WIFCONTINUED(status), 1);
	kill(group, SIGKILL);
	expect(wait4_(group, &status, 0), group);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, 1);
	pid = child_exits(0);
	expect(syscall(SYS_wait4, pid, 8, 0, NULL) < 0 ? errno : 0, EFAULT);
	expect(wait4_(pid, NULL, 0), -ECHILD);
}

static void test_waitid(void)
{
	siginfo_t info;
	int pid = child_exits(6), fd;

	memset(&info, 0xff, sizeof(info));
	expect(waitid_(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	expect(info.si_pid, pid);
	expect(waitid_(P_ALL, 0, &info, WEXITED), 0);
	expect(info.si_pid, pid);
	expect(info.si_code, CLD_EXITED);
	expect(info.si_status, 6);
	expect(waitid_(P_ALL, 0, &info, WEXITED), -ECHILD);
	expect(waitid_(P_ALL, 0, &info, 0), -EINVAL);
	expect(waitid_(9, 0, &info, WEXITED), -EINVAL);
	pid = child_pauses();
	info.si_pid = 1;
	expect(waitid_(P_PID, pid, &info, WEXITED | WNOHANG), 0);
	expect(info.si_pid, 0);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	kill(pid, SIGTERM);
	expect(waitid_(P_PIDFD, fd, &info, WEXITED), 0);
	expect(info.si_code, CLD_KILLED);
	expect(info.si_status, SIGTERM);
	expect(waitid_(P_PIDFD, fd, &info, WEXITED), -ECHILD);
	close(fd);
}

static void *wait_any(void *got)
{
	*(long *)got = wait4_(-1, NULL, 0);
	return NULL;
}

/* Each of two children is got by one of two threads. */
static void test_threads(void)
{
	for (int i = 0; i < 20; i++) {
		int a = child_pauses(), b = child_pauses();
		long got[2];
		pthread_t t[2];

		pthread_create(&t[0], NULL, wait_any, &got[0]);
		pthread_create(&t[1], NULL, wait_any, &got[1]);
		kill(a, SIGKILL);
		kill(b, SIGKILL);
		pthread_join(t[0], NULL);
		pthread_join(t[1], NULL);
		expect((got[0] == a && got[1] == b) || (got[0] == b && got[1] == a), 1);
	}
}

static void on_alarm(int sig)
{
}

static void test_interrupted(void)
{
	struct sigaction action = {.sa_handler = on_alarm};
	int status, pid = child_pauses();

	sigaction(SIGALRM, &action, NULL);
	ualarm(50000, 50000); /* the first may come too early */
	expect(wait4_(pid, &status, 0), -EINTR);
	ualarm(0, 0);
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	ualarm(50000, 0);
	if (!fork()) {
		usleep(150000);
		kill(pid, SIGKILL);
		_exit(0);
	}
	expect(wait4_(pid, &status, 0), pid);
	expect(wait4_(-1, NULL, 0) > 0, 1);
}

/* The time that a child used before SIGKILL is in its event, and stays the same. */
static void test_killed_child(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int ready[2], pid, fd;
	char byte;
	long value;

	expect(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		expect(read(ready[0], &byte, 1), 1);
		for (;;)
			;
	}
	fd = (int)perf_open(&a, pid, -1, -1, 0);
	expect(fd >= 0, 1);
	expect(write(ready[1], "x", 1), 1);
	usleep(200000);
	kill(pid, SIGKILL);
	expect(wait4_(pid, NULL, 0), pid);
	value = perf_value(fd);
	expect(value > 0 && value < 2000000000, 1);
	usleep(50000);
	expect(perf_value(fd), value);
	close(fd);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	long fd = perf_open(&a, 0, -1, -1, 0);

	expect(fd >= 0, 1);
	test_wait4();
	test_waitid();
	test_threads();
	test_interrupted();
	test_killed_child();
	return perf_result();
}
