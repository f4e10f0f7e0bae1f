/*
 * times REPEAT program [args...]: runs a program REPEAT times and prints the CPU time (user and system, all descendants
 * that were waited for) of all runs together in microseconds, the time that passed, and the greatest resident size of
 * any process in KiB. The program's input and output are nowhere.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct timespec begin, end;
	struct rusage use;
	int status, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (argc < 3)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = atoi(argv[1]); i > 0; i--) {
		pid_t pid = fork();

		if (!pid) {
			dup2(null, 0);
			dup2(null, 1);
			execvp(argv[2], argv + 2);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			fprintf(stderr, "%s: status %x\n", argv[2], status);
			return 1;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_CHILDREN, &use);
	printf("%ld %ld %ld\n",
	       (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 + use.ru_utime.tv_usec + use.ru_stime.tv_usec,
	       (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000, use.ru_maxrss);
	return 0;
}
