/*
 * The calls that change user and group ids, with ids that the process has and with others: each in a child, with its
 * errno and all ids after it.
 *
 *   users [drop] [as ID] [names FILE] [threads] [execute] [PROGRAM ARGUMENTS...]
 *
 * drop     gives up CAP_SETUID and CAP_SETGID before the calls: what the kernel says then is what --users=own is to say
 * as ID    becomes that user first
 * names N  makes a user namespace for the calls: 0 names this user and some others, 1 not this one, 2 nobody
 * threads  the calls are the C library's, in a process with two threads, which changes the ids of both
 * execute  the calls are those of this program executed again, by a child of vfork
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define SKIP 77

static bool with_threads;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void print_ids(void)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;

	getresuid(&r, &e, &s);
	getresgid(&rg, &eg, &sg);
	printf(" users %d %d %d %d groups %d %d %d %d\n", r, e, s, setfsuid(-1), rg, eg, sg, setfsgid(-1));
}

static long by_library(long nr, const int *a)
{
	switch (nr) {
	case SYS_setuid:
		return setuid(a[0]);
	case SYS_setgid:
		return setgid(a[0]);
	case SYS_setreuid:
		return setreuid(a[0], a[1]);
	case SYS_setregid:
		return setregid(a[0], a[1]);
	case SYS_setresuid:
		return setresuid(a[0], a[1], a[2]);
	case SYS_setresgid:
		return setresgid(a[0], a[1], a[2]);
	case SYS_setfsuid:
		return setfsuid(a[0]);
	default:
		return setfsgid(a[0]);
	}
}

static void *nap(void *arg)
{
	pause();
	return arg;
}

static void one(const char *name, long nr, int a, int b, int c)
{
	const int args[] = {a, b, c};
	pthread_t t;
	pid_t pid;
	long ret;

	fflush(stdout);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid) {
		must(waitpid(pid, NULL, 0) == pid, "waitpid");
		return;
	}
	if (with_threads)
		pthread_create(&t, NULL, nap, NULL);
	errno = 0;
	/* A number has 32 bits for the kernel, whatever is in front of them. */
	ret = with_threads ? by_library(nr, args) : syscall(nr | 0x500000000, a, b, c);
	printf("%s(%d, %d, %d) = %ld %s;", name, a, b, c, ret, strerror(errno));
	print_ids();
	fflush(stdout);
	_exit(0);
}

static void calls(long set, long set_two, long set_three, long set_files, int own)
{
	const int ids[] = {-1, own, own ? 0 : NOBODY, 5, 100};

	for (int i = 0; i < 5; i++) {
		int id = ids[i];

		one("set", set, id, 0, 0);
		one("set files", set_files, id, 0, 0);
		one("set two", set_two, id, -1, 0);
		one("set two", set_two, -1, id, 0);
		one("set two", set_two, own, id, 0);
		one("set three", set_three, id, -1, -1);
		one("set three", set_three, -1, id, -1);
		one("set three", set_three, -1, -1, id);
		one("set three", set_three, id, id, id);
		one("set three", set_three, own, 5, id);
	}
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];

	must(!syscall(SYS_capget, &head, data), "capget");
	data[0].effective &= ~(1u << CAP_SETUID | 1u << CAP_SETGID);
	must(!syscall(SYS_capset, &head, data), "capset");
}

static void write_file(pid_t pid, const char *name, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY);
	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

/* The rest happens in a child that is in it; this process names the ids there and waits. */
static void enter_namespace(int kind)
{
	static const char *const maps[] = {"0 0 1\n5 65534 1\n65534 3 1\n", "0 5 1\n65534 100000 1\n"};
	int ready[2], named[2], status = 0;
	char byte;
	pid_t pid;

	must(!pipe(ready) && !pipe(named), "pipe");
	pid = fork();
	if (!pid) {
		must(!close(named[1]), "close");
		byte = unshare(CLONE_NEWUSER) ? 'n' : 'y';
		if (write(ready[1], &byte, 1) != 1 || byte == 'n' || (kind < 2 && read(named[0], &byte, 1) != 1))
			_exit(SKIP);
		return;
	}
	must(read(ready[0], &byte, 1) == 1, "read");
	if (byte == 'y' && kind < 2) {
		write_file(pid, "uid_map", maps[kind]);
		write_file(pid, "gid_map", maps[kind]);
		must(write(named[1], &byte, 1) == 1, "write");
	}
	waitpid(pid, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void execute(char *self, bool drop)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = vfork();
	if (!pid) {
		if (drop)
			execl(self, self, "drop", NULL);
		else
			execl(self, self, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int argc, char **argv)
{
	bool drop = false, again = false;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "drop")) {
			drop = true;
		} else if (!strcmp(argv[i], "as")) {
			int id = atoi(argv[++i]);

			must(!setgid(id) && !setuid(id), "as");
		} else if (!strcmp(argv[i], "names")) {
			enter_namespace(atoi(argv[++i]));
		} else if (!strcmp(argv[i], "threads")) {
			with_threads = true;
		} else if (!strcmp(argv[i], "execute")) {
			again = true;
		} else {
			execv(argv[i], argv + i);
			perror(argv[i]);
			return 127;
		}
	}
	if (again)
		execute(argv[0], drop);
	if (drop)
		drop_capabilities();
	calls(SYS_setuid, SYS_setreuid, SYS_setresuid, SYS_setfsuid, (int)getuid());
	calls(SYS_setgid, SYS_setregid, SYS_setresgid, SYS_setfsgid, (int)getgid());
	return 0;
}
