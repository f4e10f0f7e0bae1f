/*
 * The tasks of a program that is counted: which there are, and whether some went on when it had ended. A dummy event
 * that all of them inherit tells it, from the program's first instruction on, also with --regions.
 */
#ifndef CLI_FAMILY_H
#define CLI_FAMILY_H

#include <stdbool.h>
#include <sys/types.h>
#include "abi/types.h"

#define FAMILY_UNKNOWN (-1)

struct family {
	/* FORK, EXIT and COMM records are seen by it, if it is set. */
	void (*see)(void *arg, void *record);
	void *arg;

	/* private */
	int dummy, fd;		  /* whose ring it is; what is inherited, and writes to it */
	void *ring;		  /* NULL: there is none, and nothing is known */
	struct family_task *task; /* whose end is not recorded */
	int nr;
	bool began, lost; /* lost: records, so the tasks may be others */
};

/* The program has not begun. Without room for the ring nothing will be known. */
void family_open(struct family *f, pid_t pid, void (*see)(void *arg, void *record), void *arg);
/* From time to time, and when the program has ended. */
void family_drain(struct family *f);
/* How many tasks have not ended, or FAMILY_UNKNOWN. */
int family_alive(const struct family *f);
/* Whether a program was executed; true if that is not known. */
bool family_began(const struct family *f);
void family_close(struct family *f);

#endif
