/*
 * Locks with ranks, for memory that is private to one process (struct lock) or shared by a session (struct slock).
 *
 * A thread acquires locks in strictly rising rank; in debug builds this is checked. No lock is held on entering the
 * code cache. Functions named *_irq take none.
 *
 * struct slock lives in the arena and survives its owner: it holds the owner's kernel thread id. A waiter that finds the owner
 * dead (tgkill probe, every few milliseconds) takes the lock over and slock_acquire returns true: the caller must then repair
 * what the lock guards before it uses it.
 */
#ifndef RT_LOCK_H
#define RT_LOCK_H

#include "abi/types.h"

enum lock_rank {
	RANK_NONE,
	RANK_SESSION, /* arena: task slots, membership */
	RANK_FILES,   /* arena: a process's event descriptors */
	RANK_EVENT,   /* arena: event tables and contexts */
	RANK_TIMERS,  /* private: making a timer of the kernel's */
	RANK_SIGHAND, /* private: signal actions of a process */
	RANK_MM,      /* private: the guest's memory map */
	RANK_DBT,     /* private: translation, links and invalidation */
	RANK_THREADS, /* private: list of the process's threads */
	RANK_LOG,
};

struct lock {
	u32 word; /* 0 free, 1 taken, 2 taken with waiters */
	u32 rank;
};

void lock_init(struct lock *l, enum lock_rank rank);
void lock_acquire(struct lock *l);
void lock_release(struct lock *l);
bool lock_try(struct lock *l);

/* Debug builds: where the calling thread keeps the set of ranks that it holds (NULL: not known, no check). Set once by os/. */
void lock_set_held(u64 *(*held)(void));

/*
 * What the calling thread's and its thread group's kernel ids are, where that is known without asking the kernel: the thread in
 * the lower half; 0: not known. Set once by os/.
 */
void lock_set_self(u64 (*self)(void));

/* Whether a lock's owner is dead, by those ids, where the kernel cannot be asked by them. Set once by os/. */
enum lock_owner { OWNER_UNKNOWN, OWNER_ALIVE, OWNER_DEAD };
void lock_set_probe(enum lock_owner (*owner)(u32 tgid, u32 tid));

struct slock {
	u32 word; /* kernel thread id of the owner, bit 31: waiters; 0 free */
	u32 tgid; /* thread group of the owner, written after word, cleared before it; 0: not known */
	u32 rank;
};

void slock_init(struct slock *l, enum lock_rank rank);
bool slock_acquire(struct slock *l); /* true: taken over from a dead owner, repair first */
void slock_release(struct slock *l);

#endif
