/*
 * A program that closes everything, uses high numbers, lowers the limit and scans: no descriptor but its own appears.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void list(const char *what, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0, high = -1;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || atoi(e->d_name) == dirfd(d))
			continue;
		n++;
		if (atoi(e->d_name) > high)
			high = atoi(e->d_name);
	}
	if (d)
		closedir(d);
	printf("%s: %d open, highest %d\n", what, n, high);
}

static void scan(const char *what)
{
	struct rlimit lim;
	int n = 0, high = -1;

	getrlimit(RLIMIT_NOFILE, &lim);
	for (int i = 0; i < (int)lim.rlim_cur; i++)
		if (fcntl(i, F_GETFD) >= 0)
			n++, high = i;
	printf("%s: %d open, highest %d\n", what, n, high);
}

int main(void)
{
	struct rlimit lim;
	int max, fd;

	getrlimit(RLIMIT_NOFILE, &lim);
	max = lim.rlim_cur;
	list("at start", "/proc/self/fd");
	list("at start", "/dev/fd");
	scan("at start");
	fd = open("/dev/null", O_RDWR);
	printf("dup2 to the highest %d\n", dup2(fd, max - 1) == max - 1);
	printf("dup2 below it %d %d\n", dup2(fd, max - 2) == max - 2, dup2(fd, max - 3) == max - 3);
	printf("dup2 too high %d", dup2(fd, max));
	printf(" %d\n", errno == EBADF);
	printf("F_DUPFD %d\n", fcntl(fd, F_DUPFD, max - 4) == max - 4);
	list("with high ones", "/proc/self/fd");
	for (int i = 3; i < max; i++)
		close(i);
	scan("after closing each");
	printf("close_range %ld\n", syscall(SYS_close_range, 3u, ~0u, 0u));
	scan("after close_range");
	printf("close of nothing %d", close(max - 2));
	printf(" %d\n", errno == EBADF);
	fd = open("/dev/null", O_RDONLY);
	printf("%d\n", fd);
	lim.rlim_cur = 20;
	setrlimit(RLIMIT_NOFILE, &lim);
	while ((fd = dup(1)) >= 0)
		;
	printf("EMFILE %d\n", errno == EMFILE);
	scan("full");
	syscall(SYS_close_range, 3u, ~0u, 0u);
	fflush(stdout);
	printf("%d\n", system("exit 6") >> 8);
	execl("/bin/sh", "sh", "-c", "ls /proc/self/fd | wc -l; ulimit -n", NULL);
	return 1;
}
