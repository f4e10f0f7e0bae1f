/*
 * What pcl has refused to the session's members: each kind once, with a count and the reason, for pcl --why, which
 * prints it when the session's first member has ended; and without --why as much as one or two lines need, which that
 * member prints when it ends. Written without locks and outside of sections: a member that is killed while it adds one
 * leaves at worst a row without all of its text. Counts are for people, and any member may have written anything there.
 */
#ifndef OS_REFUSALS_H
#define OS_REFUSALS_H

#include "abi/types.h"

#define REFUSALS       512 /* rows; further kinds are only counted */
#define REFUSALS_TEXT  184
#define REFUSALS_TOOLS 8
#define REFUSALS_INSTRUCTION (~0u)
/* What is said of a tool, after its name. */
#define REFUSALS_KERNEL_TEXT                                                                                           \
	" was refused what counts the kernel too, since pcl counts user mode only: ask for that (:u), or let pcl "     \
	"--paranoid=1 grant it, with counts of user mode"

struct refusals_row {
	u64 key; /* 0: free. Of the four that follow, but for the count; set once, by who takes the row */
	u64 count;
	u32 nr;	 /* the system call, or REFUSALS_INSTRUCTION */
	s32 err; /* positive; of an instruction the signal */
	char comm[16];
	char why[REFUSALS_TEXT];
};

/* Who was refused an event because it asked for kernel mode, by name: the threads and processes of a tool are one. */
struct refusals_tool {
	u32 state; /* enum refusals_asked */
	char comm[16];
};

enum refusals_asked {
	REFUSALS_FREE,
	REFUSALS_KERNEL, /* it has not opened an event with exclude_kernel since */
	REFUSALS_AGAIN,	 /* it has, or was refused one for another reason */
};

struct refusals {
	u64 others; /* refusals of kinds that found no row */
	/* The session's first member, and the file that is its standard error; inode 0: none [launcher] */
	s32 first;
	u64 error_device, error_inode;
	s32 speaker; /* a command of pcl, which says itself what it was refused; 0: none [launcher] */
	u32 told;    /* refusals of perf_event_open and ptrace, but those of kernel mode and the speaker's */
	struct refusals_tool tool[REFUSALS_TOOLS];
	struct refusals_row row[REFUSALS];
};

struct thread;

/*
 * Notes the refusal of the system call that t has just been served. True if that is to be said should a signal end t's
 * process.
 */
bool refusals_add(struct thread *t, long ret);

/* The same of an instruction that the kernel or the processor may have, and that gives a signal here. */
void refusals_add_instruction(const struct thread *t, s32 signo, const char *why);

/* t has opened an event with exclude_kernel. */
void refusals_asked_again(const struct thread *t);

/*
 * The process of t ends. If it is the session's first one, and its standard error is still the file that it was, says
 * in a line who asked for kernel mode only, and if the status is not 0, that there were refusals. status: as a shell
 * has it. Signals are blocked, SIGPIPE too.
 */
void refusals_last_word(const struct thread *t, s32 status);

#endif
