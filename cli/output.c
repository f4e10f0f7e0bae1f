/* See output.h. */
#include "cli/output.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

FILE *output_open(const char *path)
{
	int fd;

	if (!strcmp(path, "-"))
		return stdout;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

void output_begin(FILE *f)
{
	if (f != stdout && f != stderr && ftruncate(fileno(f), 0))
		return; /* it is no file that has a length */
}
