/*
 * What pcl has refused to the session's members, each kind once, with a count and the reason: for pcl --why, which
 * prints it when the session's first member has ended. Written without locks and outside of sections: a member that is
 * killed while it adds one leaves at worst a row without all of its text. Counts are for people, and any member may
 * have written anything there.
 */
#ifndef OS_REFUSALS_H
#define OS_REFUSALS_H

#include "abi/types.h"

#define REFUSALS      512 /* rows; further kinds are only counted */
#define REFUSALS_TEXT 184

struct refusals_row {
	u64 key; /* 0: free. Of the four that follow, but for the count; set once, by who takes the row */
	u64 count;
	u32 nr;	 /* the system call */
	s32 err; /* positive */
	char comm[16];
	char why[REFUSALS_TEXT];
};

struct refusals {
	u64 others; /* refusals of kinds that found no row */
	struct refusals_row row[REFUSALS];
};

struct thread;

/* Adds the refusal of the system call that t has just been served. */
void refusals_add(struct thread *t, long ret);

#endif
