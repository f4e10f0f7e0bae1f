/* See baseline_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cli/baseline_file.h"
#include "cli/memory.h"

#define MOST	    (16l << 20)
#define LOCK_NS	    10000000
#define LOCK_ROUNDS 3000

static int complain(const char *path, const char *why)
{
	fprintf(stderr, "pcl check: %s%s%s\n", path, *why == ' ' ? "" : ": ", why);
	return -1;
}

static const char *find_fault(const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return " is a directory, and a baseline is a file";
	if (!S_ISREG(st->st_mode))
		return " is not a regular file, as a baseline is";
	return st->st_size > MOST ? " is greater than any baseline: 16 MiB" : NULL;
}

/* The file may grow or shrink meanwhile: what is there up to the size that it had. */
static char *read_text(int fd, const char *path)
{
	const char *fault;
	struct stat st;
	size_t len = 0;
	ssize_t n = 1;
	char *text;

	if (fstat(fd, &st)) {
		complain(path, strerror(errno));
		return NULL;
	}
	fault = find_fault(&st);
	if (fault) {
		complain(path, fault);
		return NULL;
	}
	text = memory_zeroed((size_t)st.st_size + 1, 1);
	while (n > 0 && len < (size_t)st.st_size) {
		n = read(fd, text + len, (size_t)st.st_size - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n >= 0 && memchr(text, 0, len) == NULL)
		return text;
	complain(path, n < 0 ? strerror(errno) : " has a byte 0, and is not JSON");
	free(text);
	return NULL;
}

char *baseline_file_read(const char *path, bool may_be_missing)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char *text;

	if (fd < 0 && errno == ENOENT && !lstat(path, &st)) {
		complain(path, " is a symbolic link to a file that is not there");
		return NULL;
	}
	if (fd < 0 && errno == ENOENT && may_be_missing)
		return memory_text("");
	if (fd < 0) {
		fprintf(stderr, "pcl check: %s: %s%s\n", path, strerror(errno),
			errno == ENOENT ? " (--update makes it)" : "");
		return NULL;
	}
	text = read_text(fd, path);
	close(fd);
	return text;
}

/* The file that links lead to; the path itself if there is no file yet. */
static char *resolve(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : memory_text(path);
}

/* Signals are blocked since the program was run (cli/stay.h): those that mean pcl's end are taken here. */
static int wait_for_lock(int fd)
{
	static const struct timespec interval = {.tv_nsec = LOCK_NS};
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		if (i == LOCK_ROUNDS)
			return -1;
		if (sigtimedwait(&ends, NULL, &interval) > 0) {
			errno = EINTR;
			return -1;
		}
	}
	return 0;
}

int baseline_file_lock(const char *path)
{
	char *copy = resolve(path), *directory = dirname(copy);
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || wait_for_lock(fd)) {
		fprintf(stderr, "pcl check: cannot lock %s, where %s is: %s\n", directory, path,
			errno == EWOULDBLOCK ? "another process has it locked" : strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	free(copy);
	return fd;
}

static int write_all(int fd, const char *text)
{
	size_t len = strlen(text);

	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0)
			return -1;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd);
}

static int replace(const char *path, const char *text)
{
	char temporary[PATH_MAX];
	mode_t mask = umask(0);
	struct stat st;
	int fd, err;

	umask(mask);
	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= (int)sizeof(temporary)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkstemp(temporary);
	if (fd < 0)
		return -1;
	err = fchmod(fd, stat(path, &st) ? 0666 & ~mask : st.st_mode & 0777) || write_all(fd, text) ? errno : 0;
	if (close(fd) && !err)
		err = errno;
	if (!err && rename(temporary, path))
		err = errno;
	if (err)
		unlink(temporary);
	errno = err;
	return err ? -1 : 0;
}

int baseline_file_write(const char *path, const char *text)
{
	char *real = resolve(path);
	int err = replace(real, text);

	if (err)
		fprintf(stderr, "pcl check: cannot write %s: %s\n", path, strerror(errno));
	free(real);
	return err;
}
