/*
 * Sections: changes of memory that processes share, which a member may leave unfinished at any instruction.
 *
 * A struct slock guards shared memory. What a thread does from its first slock_acquire() to the matching
 * slock_release() is one *section*. Before each store to noted memory the old value is written into the thread's
 * *journal*, which is shared too. Whoever needs a lock of a section whose thread is dead, stopped, traced or starved
 * puts the old values back, newest first, and goes on: the section has not happened. If its thread runs again, it
 * restarts the section. Nobody waits for a thread that does not run.
 *
 *   acquire   the first lock of a section: keep registers and stack (section_run(): registers only), state = BUSY
 *             each lock: owner = this section, by compare-and-swap
 *   store     note {address, old value}; store                   (the compiler calls the note, see tools/build.mk)
 *   release   of the last lock: state = next turn: this one store commits, and frees all locks
 *   take over CHALLENGED, fence, wait; TAKEN; put back; state = next turn
 *
 * A lock names the journal and the turn of the section that took it last: it is free once that journal is in another
 * turn. So one store ends a section with all of its locks, wherever its thread is stopped.
 *
 * The fence: SECTION_GRACE_NS after the waiter has sent the owner a signal (or at once, where a barrier waits for the
 * interrupt), either the owner has run its handler, which takes the challenge back (section_interrupted()), or it will
 * run that handler before any other instruction: an inter-processor interrupt that was sent is taken in microseconds by
 * a processor that runs, and at once by one that begins to. The handler finds out that the section was taken over and
 * does not go back into it. So the owner needs no locked instruction to commit: a section that is TAKEN is one whose
 * thread executes nothing.
 *
 * Only a section puts notes back: if its thread is stopped, others can take that section over. A thread that finds its
 * own last section TAKEN, and that nobody ends it, does so in a section of its *spare* journal, in which there are
 * never any notes.
 *
 * A locked instruction takes longer than all else that a short section does. So a lock of RANK_SMALL that one thread
 * has taken SECTION_BIAS_AFTER times in a row is *biased* to it:
 *
 *   its thread                         another one
 *   lists the lock in its journal      bias |= REVOKING
 *   bias is still its own?             barrier: all see what the others have stored, and look again
 *   then it has the lock               a section that lists the lock is waited for
 *                                      bias = 0: the lock is taken as any other
 *
 * What cannot be put back (a wakeup, a record that becomes visible) is put off by section_after() until the section is
 * committed (DONE); whoever takes over then does it instead.
 *
 * Rules:
 *  1. A section stores only to its stack, to noted memory, and to private memory that a restart sets again.
 *  2. It makes no system call that changes anything.
 *  3. Locks are acquired in rising rank; a lock that the section holds may be acquired again. They are held to the
 *     section's end.
 *  4. A section may wait for others' sections in slock_acquire() and slock_hold() only.
 *  5. Locks of RANK_SMALL are taken in any order, by slock_hold(). A section that began with one of these does not wait
 *     while it holds anything: it puts its own notes back, waits for the other one's end, and restarts. So only a
 *     section with RANK_EVENT's lock waits for such a lock while it holds others, and there is one of these at a time.
 *     What it waits for never waits for it.
 *  6. What was read without the lock may be put back later. If it means that something is done, read it with the lock.
 *  7. A store outside of sections is undone where somebody's section that has stored to the same is put back. Where
 *     that matters, sections store there without notes (UNNOTED).
 */
#ifndef RT_SECTION_H
#define RT_SECTION_H

#include "abi/types.h"
#include "rt/arch.h"
#include "rt/layout.h"
#include "rt/lock.h"

#define SECTION_JOURNALS 16384	    /* numbers from 1; task slots in pcl */
#define SECTION_GRACE_NS 5000000ul  /* from a fence to the taking over */
#define SECTION_ANSWER_NS 200000ul  /* the same, if the fence has passed: for an owner that runs to say so */
#define SECTION_STACK 0x8000	    /* bytes of stack that are kept, at most */

/* Bits of journal.state, below the turn. */
#define SECTION_BUSY 1ul
#define SECTION_DONE 2ul	/* committed; what was put off is being done */
#define SECTION_CHALLENGED 4ul	/* somebody waits, and asks whether its thread runs */
#define SECTION_TAKEN 8ul	/* it is not its thread's any more */
#define SECTION_WAITERS 16ul	/* sleep on the lower half of the state */
#define SECTION_LOST 32ul	/* beside the next turn: it was a taker who ended the last one */
/*
 * Which challenge of the section it is: so many that none comes again while its maker sleeps. Many may wait, and each
 * asks anew when one was answered.
 */
#define SECTION_SERIAL 64ul
#define SECTION_SERIALS (0x3ffff * SECTION_SERIAL)
#define SECTION_TURN_SHIFT 24

#define SECTION_OWNER_SHIFT 48	/* a section's name: the journal's number, and below this its turn */
#define SECTION_SPARE 0x8000u	/* bit of the number of a spare journal */
#define SECTION_REVOKING (1ul << 63) /* the same bit of a name, in slock.bias: no thread has such a number */
#define SECTION_SPARE_SIZE 4096u

/* In shared memory, zeroed: free, of RANK_SMALL. */
struct slock {
	u64 owner; /* name of the section that took it last, unless it was biased; 0: none yet */
	u64 bias;  /* name of the section that biased it to its thread; 0: it is not biased */
	u32 rank;  /* enum lock_rank; 0: RANK_SMALL */
	u32 again; /* how many times in a row the same thread took it, before it is biased */
};
#define SECTION_BIAS_AFTER 8
#define SECTION_BIASED 8 /* that one section may have */

struct section_note {
	u64 where; /* offset in the noted memory, and above SECTION_SIZE_SHIFT how many bytes: 1, 2, 4 or 8 */
	u64 old;
};
#define SECTION_SIZE_SHIFT 60

struct section_after {
	u32 kind, arg; /* kind is not 0 */
	u64 value;
};

#define SECTION_NOTES ((LAYOUT_JOURNAL_SIZE - 0x100000 - SECTION_SPARE_SIZE) / sizeof(struct section_note))
#define SECTION_AFTERS (0x100000 / sizeof(struct section_after) - 16)
/* Those that a long section may have besides. */
#define SECTION_LONG_NOTES (LAYOUT_LONG_SIZE * 3 / 4 / sizeof(struct section_note))
#define SECTION_LONG_AFTERS (LAYOUT_LONG_SIZE / 4 / sizeof(struct section_after))

/*
 * One for each number, in shared memory at section_host.journals; of a spare one the beginning, at the end of the
 * other. Written by its thread while the section is not TAKEN.
 */
struct journal {
	u64 state;
	u64 taker;     /* TAKEN: name of the section that puts this one's notes back; free as a lock is */
	u64 last_done; /* 1 + the last turn that a taker ended when it was DONE; 0: there was none */
	u32 notes, afters;
	u64 biased_n;
	const struct slock *biased[SECTION_BIASED]; /* locks that the section has by their bias, or tries to get */
	struct section_note note[SECTION_NOTES]; /* the first ones on the same page: a new task touches no more */
	struct section_after after[SECTION_AFTERS];
};

/*
 * What a section that holds section_host.long_lock notes and puts off when its journal is full, in shared memory. The
 * next one can hold that lock only when this one's notes are not needed any more.
 */
struct section_long {
	struct section_note note[SECTION_LONG_NOTES];
	struct section_after after[SECTION_LONG_AFTERS];
};

/* Registers to go on with. */
struct section_regs {
	u64 reg[ARCH_SAVED_REGS];
};

/* A thread's own side, private. */
struct section {
	/* These four are where rt/x86_64/section.S knows them to be. */
	char *kept_stack;    /* SECTION_STACK bytes */
	u64 kept;	     /* of them are in use */
	struct section_regs begin;
	u32 called;	     /* the next section restarts where section_run() has called its function */
	u32 restartable;
	struct journal *journal; /* the one in use */
	u64 number;	     /* of that */
	/* the same, if locks may be biased to this thread: section_host.barrier() reaches it; else 0 */
	u64 bias_number;
	u64 name;	     /* of the present section */
	u64 turn;
	u64 stressed;	     /* serial of the one that was made to restart, see rt/stress.h */
	u64 serial;	     /* of the section, which stays when it restarts */
	u64 waited, waits_since; /* the section that it waited for last, and since when */
	u32 waits;
	u64 awaited;	     /* name of the section that this one gave up for; 0: none */
	u32 notes, afters, biased_n; /* as in the journal, where others may write */
	u32 small;	     /* it began with a lock of RANK_SMALL */
	u32 open;	     /* in a section */
	u32 noting;	     /* and stores are noted */
	u32 after;	     /* doing what was put off */
	u32 depth;	     /* of slock_acquire() */
	u64 stack_top;	     /* the stack above this does not change in sections */
	u64 ranks;	     /* ranks held at the beginning, for rt/lock.h's check */
	struct section_regs end;
};

/*
 * FENCE_PASSED: the thread has been interrupted already if it runs, so it executes nothing but its handler from now on.
 */
enum section_fence { FENCE_SENT, FENCE_PASSED, FENCE_DEAD, FENCE_FAILED };

struct section_host {
	char *journals;	     /* LAYOUT_JOURNAL_SIZE apart; number 0 is not used */
	/* of sections with this lock, whose changes grow with what guests have; NULL: none is that long */
	const struct slock *long_lock;
	struct section_long *longer;
	char *noted;	     /* the memory that notes are of */
	u64 noted_size;
	/* Makes the thread with that number run its handler; see above. */
	enum section_fence (*fence)(u32 number);
	/*
	 * Returns once all that members' threads had stored before is visible, and they load again. NULL: that cannot
	 * be; nothing is biased.
	 */
	void (*barrier)(void);
	/*
	 * What was put off. committed: false if the section was put back: nothing happened, but what lies about may be
	 * tidied.
	 */
	void (*after)(u32 kind, u32 arg, u64 value, bool committed);
};

extern struct section_host section_host;

/* The calling thread's. */
struct section *section_self(void);

static inline void slock_init(struct slock *l, u32 rank)
{
	*l = (struct slock){.rank = rank};
}

void slock_acquire(struct slock *l);
void slock_release(struct slock *l);
/* In a section: the lock too, to the section's end. For locks of RANK_SMALL; again is nothing. */
void slock_hold(struct slock *l);
/* The calling thread's section has it. */
bool slock_is_held(const struct slock *l);
/*
 * For check_slow(): the calling thread is in a section. That is known to it alone; what it has locked is in shared
 * memory, which proves nothing.
 */
static inline bool section_is_open(void)
{
	return section_self()->open;
}

/*
 * Outside of sections: work(arg). Its first section restarts by calling it again, so that nothing of the stack needs to
 * be kept for that. A restart does not reset *arg or other frames: work() sets what the section changes there itself,
 * after slock_acquire().
 */
void section_run(void (*work)(void *arg), void *arg);

/*
 * In a section: it has not happened, and all locks are free; what(arg), which enters no section, is called; then the
 * section restarts. For what cannot be done in a section, and has to be known in it. Not while what was put off is done
 * (section.after).
 */
void section_leave_for(void (*what)(void *arg), void *arg) __attribute__((noreturn));

/* A function that stores to the stack only, or to memory that means nothing until the section is committed. */
#define UNNOTED __attribute__((no_sanitize_address))
/* A function that stores nothing: it becomes part of those that are noted, and of those that are not. */
#define READS static inline __attribute__((always_inline))

/* The present section's, unlike that of any earlier one of the thread; the same when it restarts. */
static inline u64 section_serial(void)
{
	return section_self()->serial;
}

/* In a section: done once it is committed, in the order of the calls. Outside of one: at once. */
void section_after(u32 kind, u32 arg, u64 value);

/* Before a store to noted memory that the compiler does not see. */
void section_note(const void *p, u64 size);
/* A store to noted memory that is not put back. */
static inline __attribute__((always_inline)) void section_store(u64 *p, u64 value)
{
	arch_store(p, value);
}

/*
 * By the thread's signal handler, before it returns: was it in a section that is not its own any more? Then regs says
 * where it is to go on instead, and the first argument is to be `first`. False: back to where it was.
 */
bool section_interrupted(struct section *s, u64 *rip, u64 *first);

/* A journal whose thread is gone, before its number is used again: a section that it left is put back. */
void section_settle(u32 number);

static inline struct journal *section_journal(u32 number)
{
	u64 spare = number & SECTION_SPARE ? LAYOUT_JOURNAL_SIZE - SECTION_SPARE_SIZE : 0;

	return (struct journal *)(section_host.journals + (u64)(number & ~SECTION_SPARE) * LAYOUT_JOURNAL_SIZE + spare);
}

#endif
