/*
 * Locks with ranks, for memory that is private to one process. Those of memory that processes share are in
 * rt/section.h.
 *
 * A thread acquires locks in strictly rising rank; in debug builds this is checked. No lock is held on entering the
 * code cache. Functions named *_irq take none.
 */
#ifndef RT_LOCK_H
#define RT_LOCK_H

#include "abi/types.h"

enum lock_rank {
	RANK_NONE,
	RANK_UPROBES, /* private: finding out where probes are */
	RANK_RETURNS, /* private: where probed functions return to */
	RANK_SESSION, /* arena: task slots, membership */
	RANK_FILES,   /* arena: a process's event descriptors */
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

struct lock {
	u32 word; /* 0 free, 1 taken, 2 taken with waiters */
	u32 rank;
};

void lock_init(struct lock *l, enum lock_rank rank);
void lock_acquire(struct lock *l);
void lock_release(struct lock *l);
bool lock_try(struct lock *l);

/*
 * Debug builds: where the calling thread keeps the set of ranks that it holds (NULL: not known, no check). Set once by
 * os/.
 */
void lock_set_held(u64 *(*held)(void));

/*
 * The same set: kept and set as a whole by sections (rt/section.h), whose locks are released together. 0 where it is
 * not known.
 */
u64 lock_ranks(void);
void lock_set_ranks(u64 ranks);
void lock_rank_acquired(u32 rank);

/* For check_slow(): the calling thread has locked something of that rank, or it is not known. */
bool lock_held(u32 rank);

#endif
