/* runner N program: starts a program N times, one after the other, with the same few instructions each time. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int status;

	for (int n = atoi(argv[1]); n > 0; n--) {
		pid_t pid = fork();

		if (!pid) {
			execv(argv[2], argv + 2);
			_exit(127);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}
