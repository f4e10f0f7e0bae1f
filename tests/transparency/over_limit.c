/*
 * A process that has more memory than its RLIMIT_AS or RLIMIT_DATA allows executes programs, and these live under the
 * limit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HAS	(64ul << 20)
#define MAY	(16ul << 20)
#define STRINGS 3000

static char *self, *args[] = {"program", "show", NULL}, *script[] = {"script", "arg", NULL};
static char *many[STRINGS + 1];

/* The new program. */
static int show(int resource)
{
	struct rlimit lim;
	void *small = mmap(NULL, MAY / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *large = mmap(NULL, MAY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	getrlimit(resource, &lim);
	printf("%lu %lu, small %d, large %d\n", lim.rlim_cur, lim.rlim_max, small != MAP_FAILED, large != MAP_FAILED);
	return 0;
}

static void lower(int resource)
{
	struct rlimit lim = {MAY, MAY};

	if (setrlimit(resource, &lim))
		perror("setrlimit");
}

static void report(const char *what, pid_t child)
{
	int status = 0;

	if (waitpid(child, &status, 0) != child)
		printf("%s: errno %d\n", what, errno);
	else
		printf("%s: status %x\n", what, status);
	fflush(stdout);
}

/* The limit is the child's, which executes what is not there first. */
static void execute(int resource, const char *path, char **argv, char **envp)
{
	pid_t child = fork();

	if (!child) {
		lower(resource);
		execve("/nowhere", argv, envp);
		execve(path, argv, envp);
		_exit(errno);
	}
	report("fork, limit, execve", child);
	child = vfork();
	if (!child) {
		lower(resource);
		execve("/nowhere", argv, envp);
		execve(path, argv, envp);
		_exit(errno);
	}
	report("vfork, limit, execve", child);
}

/* More than it may have itself, when it executes something. */
static void over(int resource, const char *own_script)
{
	lower(resource);
	execve(own_script, script, environ);
	_exit(errno);
}

static void all(int resource)
{
	static char variable[32];
	pid_t child;

	snprintf(variable, sizeof(variable), "RESOURCE=%d", resource);
	putenv(variable);
	execute(resource, self, args, environ);
	many[0] = variable;
	for (int i = 1; i < STRINGS; i++)
		many[i] = "NAME=value";
	execute(resource, self, args, many);
	execute(resource, "./script", script, environ);
	child = fork();
	if (!child)
		over(resource, "./script");
	report("all over", child);
}

int main(int argc, char **argv)
{
	FILE *f;

	if (argc > 1)
		return show(atoi(getenv("RESOURCE")));
	self = realpath("/proc/self/exe", NULL);
	f = fopen("script", "w");
	fprintf(f, "#!%s from-a-script\n", self);
	fclose(f);
	chmod("script", 0755);
	if (mmap(NULL, HAS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		return 1;
	all(RLIMIT_AS);
	all(RLIMIT_DATA);
	return 0;
}
