/*
 * execve where the table of descriptors has no number free, or only a few: by a low RLIMIT_NOFILE, or since all are in
 * use. Linux needs none for it.
 *
 * cflags: -static -pthread
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM 30 /* a limit that leaves room for the link /proc/self/exe, see doc/linux-quirks.md */

enum use { AS_IT_IS, CLOSED_ON_EXEC, KEPT };

static char *self;

static void report(const char *what, pid_t child)
{
	int status = 0;

	waitpid(child, &status, 0);
	printf("%s: status %x\n", what, status);
	fflush(stdout);
}

/* The new program: how many numbers it has in use, and whether the link is to it. */
static int show(char **argv)
{
	char link[4096] = "";
	int open_ones = 0;

	for (int fd = 0; fd < 40; fd++)
		open_ones += fcntl(fd, F_GETFD) >= 0;
	printf("%s %s: %d open\n", argv[1], argv[2] ? argv[2] : "", open_ones);
	if (!strcmp(argv[1], "link")) {
		if (readlink("/proc/self/exe", link, sizeof(link) - 1) < 0)
			perror("readlink");
		printf("%d\n", strstr(link, "few_descriptors") != NULL);
	}
	return 5;
}

static void use_up(unsigned limit, enum use use)
{
	struct rlimit lim = {limit, limit};

	setrlimit(RLIMIT_NOFILE, &lim);
	while (use != AS_IT_IS && open("/dev/null", O_RDONLY | (use == CLOSED_ON_EXEC ? O_CLOEXEC : 0)) >= 0)
		;
}

static void *exec_in_thread(void *path)
{
	char *args[] = {"program", "thread", NULL};

	execv(path, args);
	_exit(errno);
}

static void try(unsigned limit, enum use use)
{
	static char text[64];
	char *args[] = {"program", use == CLOSED_ON_EXEC && limit >= ROOM ? "link" : "show", text, NULL};
	char *odd[] = {"program", NULL};
	pthread_t thread;

	snprintf(text, sizeof(text), "limit %u use %d", limit, use);
	for (int way = 0; way < 8; way++) {
		pid_t child = way == 1 ? vfork() : fork();

		if (!child) {
			if (way == 5) {
				int dir = open(".", O_RDONLY | O_DIRECTORY);

				dup2(dir, 0);
				close(dir);
			}
			use_up(limit, use);
			switch (way) {
			case 0:
			case 1: execv(self, args); break;
			case 2: execv("./script", args); break;
			case 3: execv("./relative", args); break;
			case 4: execv("./absent", args); break;
			case 5: execveat(0, "/bin/true", args, environ, 0); break;
			case 6: execv("./text", odd); break;
			case 7:
				pthread_create(&thread, NULL, exec_in_thread, self);
				pthread_join(thread, NULL);
			}
			_exit(errno);
		}
		report(text, child);
	}
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	fputs(text, f);
	fclose(f);
	chmod(name, 0755);
}

int main(int argc, char **argv)
{
	static const unsigned limits[] = {3, 4, 5, ROOM};
	char text[5000];

	if (argc > 1)
		return show(argv);
	self = realpath("/proc/self/exe", NULL);
	snprintf(text, sizeof(text), "#!%s script\n", self);
	put("script", text);
	put("text", "no program\n");
	if (symlink(self, "relative"))
		return 1;
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (enum use use = AS_IT_IS; use <= KEPT; use++)
			try(limits[i], use);
	return 0;
}
