/*
 * Locks with ranks, for memory that is private to one process. Those of memory that processes share are in
 * rt/section.h.
 *
 * A thread acquires locks in strictly rising rank; in debug builds this is checked. No lock is held on entering the
 * code cache. Functions named *_irq take none.
 *
 * The threads of a process die together, but processes may have the same memory: a child of vfork and its parent. So a
 * lock names its holder, and who has waited for it for a while asks whether that one is still there. If not, the lock
 * is taken over, and what it guards is mended first (struct lock_host).
 */
#ifndef RT_LOCK_H
#define RT_LOCK_H

#include "abi/types.h"

enum lock_rank {
	RANK_NONE,
	RANK_UPROBES, /* private: finding out where probes are */
	RANK_RETURNS, /* private: where probed functions return to */
	RANK_SESSION, /* arena: task slots, membership */
	RANK_EVENT,   /* arena: event tables and contexts */
	/*
	 * arena: one context, or one ring: sections that begin with such a lock give up instead of waiting
	 * (rt/section.h)
	 */
	RANK_SMALL,
	RANK_TIMERS,  /* private: making a timer of the kernel's */
	RANK_SIGHAND, /* private: signal actions of a process */
	RANK_MM,      /* private: the guest's memory map */
	RANK_SITES,   /* private: where probes are */
	RANK_DBT,     /* private: translation, links and invalidation */
	RANK_THREADS, /* private: list of the process's threads */
	RANK_LOG,
};

/*
 * For what the child of a fork writes to first of all, locks among it: together, since each page that is written to is
 * copied.
 */
#define WRITTEN_BY_FORK __attribute__((section(".data.fork")))

#define LOCK_WAITERS (1u << 31)
#define LOCK_NOBODY  1u /* the holder's name where threads have none yet; never taken for gone */

struct lock {
	u32 word; /* 0: free; else its holder's name, with LOCK_WAITERS if there may be some */
	u32 rank;
};

/* A thread, as one that holds locks. */
struct lock_holder {
	u32 name;  /* below LOCK_WAITERS, not LOCK_NOBODY, and no other one's as long as it may hold a lock */
	u32 holds; /* so many locks, or waits for them */
	u64 ranks; /* in debug builds, of those and of its section's */
};

/* Set once by os/. */
struct lock_host {
	struct lock_holder *(*self)(void); /* the calling thread; NULL: it is not known */
	bool (*is_gone)(u32 name);	   /* that thread executes nothing any more */
	/* The calling thread has the lock, whose holder is gone. */
	void (*mend)(struct lock *l);
};

extern struct lock_host lock_host;

void lock_init(struct lock *l, enum lock_rank rank);
void lock_acquire(struct lock *l);
void lock_release(struct lock *l);
bool lock_try(struct lock *l);
/* In any context, by who does not hold it: if its holder is gone, what it guards is mended, and it is free. */
void lock_free_of_dead(struct lock *l);

/*
 * The calling thread's ranks: kept and set as a whole by sections (rt/section.h), whose locks are released together. 0
 * where they are not known.
 */
u64 lock_ranks(void);
void lock_set_ranks(u64 ranks);
void lock_rank_acquired(u32 rank);

/* For check_slow(): the calling thread has locked something of that rank, or it is not known. */
bool lock_held(u32 rank);

#endif
