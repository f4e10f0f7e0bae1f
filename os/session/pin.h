/* What --pin holds still, as data: os/pin/pin.h says how. */
#ifndef OS_SESSION_PIN_H
#define OS_SESSION_PIN_H

#include "abi/types.h"

enum pin_item {
#define PIN(id, name, text) PIN_##id,
#include "os/session/pin.def"
#undef PIN
	PIN_ITEMS,
};

#define PIN_SEED     0x70636c2070696e00ul /* of the first thread of a session */
#define PIN_SLACK_NS 600000000000ul	  /* how far virtual time may be behind the host's clock: ten minutes */

/*
 * A timer that a process has set: from `due` on, by CLOCK_MONOTONIC of the host, virtual time is behind by no more than
 * `lag`. due 0: there is none.
 */
struct pin_timer {
	u64 due;
	s64 lag;
};

enum {
	PIN_TIMER_REAL,	 /* ITIMER_REAL, of which a process has one */
	PIN_TIMER_OTHER, /* all others that it has ever set: the earliest */
	PIN_TIMERS
};

/* Behind what a program was told when it was executed. */
struct pin_state {
	u64 seed;	   /* of its first thread's random numbers */
	u64 now;	   /* ns of virtual time since the session began */
	u64 cpu, children; /* of these the process has used; children that it has waited for */
	s64 lag;	   /* how far virtual time may be behind CLOCK_MONOTONIC of the host */
	struct pin_timer timer[PIN_TIMERS];
	u64 has_random;	   /* a device of random numbers may be open */
};

/* Of the first program. mono: CLOCK_MONOTONIC of the host. */
static inline struct pin_state pin_first_state(u64 mono)
{
	return (struct pin_state){.seed = PIN_SEED, .lag = (s64)(mono + PIN_SLACK_NS)};
}

/* Of a thread. */
struct pin_thread {
	u64 seed, drawn, children; /* random numbers: drawn so far; tasks made */
	u64 seen;		   /* instructions that virtual time has advanced for */
	u64 late;		   /* ns that it has still to advance for system calls */
	u64 cpu;		   /* ns that it has advanced for this thread */
	u64 anew;		   /* PIN_ANEW: what it executes next begins as the first program does */
	/* what the kernel is told in place of the guest's own arguments, for a call that may be done again */
	u64 argument[4];
};

enum turn_state {
	TURN_READY,   /* wants the turn */
	TURN_RUNS,    /* has it */
	TURN_CALLS,   /* has it, and makes a system call of the host's */
	TURN_WAITS,   /* for something that others see: below */
	TURN_TAKEN,   /* the turn is being taken away from it, for a moment */
	TURN_OUTSIDE, /* in a system call of the host's, without the turn */
};

/* A thread's part in the schedule: --pin=schedule, os/pin/turn.h. By who has the turn, but `on` to `over`. */
struct turn {
	u32 on;	    /* it takes part: its process has several threads */
	u32 has;    /* the turn is its own; a futex */
	u32 state;  /* enum turn_state */
	u32 over;   /* so many instructions were executed */
	u32 longer; /* its turns are TURN_INSNS << longer instructions: the last ones ended in critical sections */
	struct thread *next;
	long (*host)(struct thread *t, const u64 *a); /* what does its call if nothing is pinned */
	gva clear_tid; /* of set_tid_address(2) */
	/* while it waits: */
	u64 until;  /* virtual time, ~0: no limit */
	u32 woken;  /* by another thread */
	u32 tries;  /* something may have become of its call, */
	u64 tried;  /* that it has tried when turns.progress was that */
	struct {
		gva at; /* 0: in none */
		u64 ticket;
		u32 value, bits, shared;
	} futex;
};

/* In the arena, by process number in the launcher's pid namespace: what who waits for it takes over. */
struct pin_end {
	u64 now, cpu;
};
/*
 * prctl() with that number: what the caller executes next begins as a session's first program does, whatever was
 * before. pcl count asks for it, so that all its runs are the same; without --pin it is a number that Linux does not
 * know.
 */
#define PIN_ANEW 0x70636c31
/* The same of this one, whose result is which items are held still, as bits. */
#define PIN_HELD 0x70636c33
#define PIN_ENDS 0x400000u /* PID_MAX_LIMIT */

#endif
