/* Running a program to see what it says, for pcl doctor. */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

#include <stddef.h>

#define PROBE_SECONDS 20

/*
 * Runs argv[0], a path, with nothing on its standard input; text gets what it writes to standard output and error, cut
 * off at size - 1, without the last newline. Returns its status as a shell has it; 124: it was killed after
 * PROBE_SECONDS; 127: it could not be run.
 */
int probe_run(char *const *argv, char *text, size_t size);

/* Why that status, in words: the text if there is one, unless the probe took too long. Valid until the next call. */
const char *probe_reason(int status, const char *text);

#endif
