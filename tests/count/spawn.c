/*
 * vfork: children that share the parent's memory until they replace it. posix_spawn cannot be compared this way: it
 * blocks all signals, and single-stepping unblocks SIGTRAP and resets its action, which the child of posix_spawn looks
 * at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *args[] = { argv[0], "child", NULL }, *env[] = { NULL };
	volatile int sum = 0;
	int status;
	pid_t pid;

	if (argc > 1)
		return 9;
	for (volatile int i = 0; i < 3; i++) {
		pid = vfork();
		if (!pid) {
			execve("/proc/self/exe", args, env);
			_exit(1);
		}
		waitpid(pid, &status, 0);
		sum = sum * 10 + WEXITSTATUS(status);
	}
	pid = vfork();
	if (!pid)
		_exit(4);
	waitpid(pid, &status, 0);
	printf("%d %d\n", sum, WEXITSTATUS(status));
	return 0;
}
