/* Finding the program to run, and saying as a shell does why it cannot be run. */
#ifndef CLI_FIND_H
#define CLI_FIND_H

#include <stdbool.h>
#include "abi/types.h"

#define FIND_NOT_FOUND 127 /* exit status: there is no such program */

struct program {
	char path[4096]; /* as execve would get it */
	bool by_shell;	 /* a text without #!: as execvp does, /bin/sh path args is run instead */
};

/* Looks name up as execvp(3) does. Returns 0, or a status for exit (126, 127) after the message. */
int find_program(const char *name, struct program *out);

/* This program's own file. 0, or -1 after a message. */
int find_self(struct program *out);

/* Prints what a shell prints when executing path gives this error, and returns the exit status. */
int find_report(const char *path, int err);

#endif
