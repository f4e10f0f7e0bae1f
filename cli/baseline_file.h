/*
 * The file of a baseline as bytes: read as a whole, replaced as a whole.
 *
 * Who changes it holds a lock from the reading to the replacing, flock(2) on the directory that the file is in: it
 * needs no file of its own, works where the file is not there yet, and ends with its holder. Only processes of one
 * machine keep each other out, since network file systems do not hand on locks of directories.
 */
#ifndef CLI_BASELINE_FILE_H
#define CLI_BASELINE_FILE_H

#include <stdbool.h>

/* All of it, to be freed; "" if it does not exist and that may be. Only a regular file of some MiB is read. NULL after
 * a message. */
char *baseline_file_read(const char *path, bool may_be_missing);

/* Waits half a minute at most. Returns a descriptor, whose close() is the end of the lock; -1 after a message. */
int baseline_file_lock(const char *path);

/* A new file of the old one's mode takes its place. Of a symbolic link, the file that it leads to is replaced. 0, or
 * -1 after a message. */
int baseline_file_write(const char *path, const char *text);

#endif
