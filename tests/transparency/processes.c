/* fork, vfork, clone, exec and wait in all their forms; exec from a thread; orphans; session and group. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	return status;
}

static void on_signal(int sig)
{
}

static int shared;

static int clone_body(void *arg)
{
	shared = *(int *)arg;
	return 33;
}

static void *exec_from_thread(void *arg)
{
	execl("/proc/self/exe", "processes", "child", "from-thread", NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	static char stack[65536];
	int p[2], go[2], n = 71, status;
	siginfo_t si;
	pthread_t t;
	pid_t pid;
	char c;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 2) {
		printf("child %s tasks ok %d\n", argv[2], getpid() == syscall(SYS_gettid));
		return 21;
	}
	if (!(pid = fork())) {
		if (!(pid = fork()))
			_exit(5);
		_exit(WEXITSTATUS(wait_for(pid)) + 1);
	}
	printf("fork %x\n", wait_for(pid));
	if (!(pid = vfork()))
		execl("/proc/self/exe", "processes", "child", "vfork", NULL);
	printf("vfork, exec %x\n", wait_for(pid));
	pid = clone(clone_body, stack + sizeof(stack), CLONE_VM | SIGCHLD, &n);
	status = wait_for(pid);
	printf("clone with memory %x %d\n", status, shared);
	n = 72;
	pid = clone(clone_body, stack + sizeof(stack), SIGCHLD, &n);
	status = wait_for(pid);
	printf("clone without %x %d\n", status, shared);
	pid = clone(clone_body, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGUSR1 * 0, &n);
	status = wait_for(pid);
	printf("clone without a signal %x %d\n", status, shared);
	struct clone_args args = {
		.exit_signal = SIGCHLD, .flags = CLONE_PARENT_SETTID, .parent_tid = (unsigned long)&n};
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		_exit(9);
	printf("clone3 %d %x\n", n == pid, wait_for(pid));
	printf("clone3 bad %ld", syscall(SYS_clone3, &args, 8));
	printf(" %d\n", errno == EINVAL);
	if (!(pid = fork())) {
		pthread_create(&t, NULL, exec_from_thread, NULL);
		for (;;)
			pause();
	}
	printf("exec from a thread %x\n", wait_for(pid));
	if (!(pid = fork())) {
		int fd = open("/proc/self/exe", O_RDONLY);
		char *args2[] = { "processes", "child", "fexecve", NULL }, *env[] = { NULL };

		fexecve(fd, args2, env);
		_exit(1);
	}
	printf("fexecve %x\n", wait_for(pid));
	if (!(pid = fork())) {
		signal(SIGUSR1, SIG_IGN);
		signal(SIGUSR2, on_signal);
		execl("/bin/sh", "sh", "-c", "grep -E 'SigIgn|SigCgt' /proc/self/status | cut -c 15-", NULL);
	}
	printf("signals after exec %x\n", wait_for(pid));
	if (pipe(go))
		return 1;
	if (!(pid = fork())) {
		alarm(0);
		kill(getpid(), SIGSTOP);
		(void)!read(go[0], &c, 1); /* that it has gone on is seen only while it has not ended */
		_exit(3);
	}
	waitid(P_PID, pid, &si, WSTOPPED);
	printf("waitid %d %d", si.si_code == CLD_STOPPED, si.si_status);
	kill(pid, SIGCONT);
	waitid(P_PID, pid, &si, WCONTINUED);
	printf(" %d", si.si_code == CLD_CONTINUED);
	(void)!write(go[1], "", 1);
	waitid(P_PID, pid, &si, WEXITED | WNOWAIT);
	printf(" %d %d", si.si_code == CLD_EXITED, si.si_status);
	printf(" %x\n", wait_for(pid));
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe(p))
		return 1;
	if (!(pid = fork())) {
		if (!fork()) {
			while (getppid() == pid)
				usleep(1000);
			(void)!write(p[1], "o", 1);
			_exit(44);
		}
		_exit(0);
	}
	wait_for(pid);
	printf("orphan %zd", read(p[0], &c, 1));
	printf(" %d", wait(&status) > 0);
	printf(" %x\n", status);
	if (!(pid = fork())) {
		printf("setsid %d %d\n", setsid() == getpid(), getpgrp() == getpid());
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		prctl(PR_SET_NAME, "new name");
		char name[16];
		prctl(PR_GET_NAME, name);
		printf("%s\n", name);
		execl("/no/such", "x", NULL);
		printf("exec %d\n", errno == ENOENT);
		execl("/tmp", "x", NULL);
		printf("exec %d\n", errno == EACCES);
		abort();
	}
	printf("abort %x\n", wait_for(pid) & 0x7f);
	return 3;
}
