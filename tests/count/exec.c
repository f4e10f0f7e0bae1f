/* A program that replaces itself three times, with other arguments and another environment. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	char number[16];
	char *args[] = { "renamed", number, NULL }, *env[] = { "ONLY=this", NULL };

	printf("%d %s\n", n, n ? argv[0] : "first");
	fflush(stdout);
	if (n == 3)
		return 5;
	snprintf(number, sizeof(number), "%d", n + 1);
	if (execve("/nonexistent/program", args, env) != -1 || errno != ENOENT)
		return 1;
	execve("/proc/self/exe", args, env);
	return 1;
}
