/* See output.h. */
#include "cli/output.h"
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file behind /dev/stdout, opened anew, would be written over from its beginning. */
static bool is_open_at(const char *path, int fd)
{
	struct stat a, b;

	return !stat(path, &a) && !fstat(fd, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

FILE *output_open(const char *path)
{
	int fd;

	if (!strcmp(path, "-") || is_open_at(path, STDOUT_FILENO))
		return stdout;
	if (is_open_at(path, STDERR_FILENO))
		return stderr;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

void output_begin(FILE *f)
{
	if (f != stdout && f != stderr && ftruncate(fileno(f), 0))
		return; /* it is no file that has a length */
}
