/* A program that is executed where no descriptor number is free, before that. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rlimit lim = {40, 40};
	char *args[] = {argv[0], "child", NULL}, *env[] = {NULL};
	volatile unsigned sum = 0;
	int status = 0;

	if (argc > 1) {
		for (int i = 0; i < 200; i++)
			sum = sum * 3 + (unsigned)i;
		return (int)(sum & 63);
	}
	setrlimit(RLIMIT_NOFILE, &lim);
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
	for (volatile int i = 0; i < 3; i++) {
		pid_t child = i == 1 ? vfork() : fork();

		if (!child) {
			execve("/proc/self/exe", args, env);
			_exit(99);
		}
		waitpid(child, &status, 0);
		sum = sum * 7 + (unsigned)WEXITSTATUS(status);
	}
	printf("%u\n", sum);
	return 0;
}
