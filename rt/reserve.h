/*
 * A table that is filled from its start on and has its addresses from the beginning.
 *
 * As a rule the kernel finds memory for it as it is touched. Where it never promises more than it has
 * (vm.overcommit_memory=2), private memory counts from when it becomes writable, touched or not, and again in each
 * child of a fork. There a reserve can only be read at first, and becomes writable in steps.
 */
#ifndef RT_RESERVE_H
#define RT_RESERVE_H

#include "abi/types.h"

struct reserve {
	u64 start, end;
	u64 ready;   /* writable up to here */
	u64 touched; /* up to here by reserve_touch() */
	u32 prot;    /* what it becomes; 0: it is shared memory, writable as it is, and touched in steps */
};

extern bool reserve_in_steps; /* set before the first is made */

/* What to map a reserve with that is to become `prot`. */
int reserve_prot(int prot);
/* Those addresses, mapped with reserve_prot(). */
struct reserve reserve_of(u64 start, u64 size, int prot);
/* For reserve_ready(). */
bool reserve_grow(struct reserve *r, u64 until);

/*
 * Touches what is ready up to `until`, and some more, so that nobody has page faults there. False: the kernel is too
 * old to be asked for that, or has no memory.
 */
bool reserve_touch(struct reserve *r, u64 until);

/*
 * Gives up to so many bytes at its end up for good, of those behind `keep`; they can only be read then. How many: 0,
 * there are none.
 */
u64 reserve_give_up(struct reserve *r, u64 keep, u64 bytes);

/* Writable up to `until`? It becomes so if there is memory for that. */
static inline bool reserve_ready(struct reserve *r, u64 until)
{
	return until <= r->ready || reserve_grow(r, until);
}

#endif
