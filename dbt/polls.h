/*
 * In CPU_WANT_SPARSE code, the blocks that poll: from one poll to the next there are at most CPU_POLL_UNITS, whichever
 * way the code goes.
 *
 * The distance of a place is how many units there may have been since the last poll. A poll adds the distance in front
 * of its block and the block's own units to a word of bank.poll[], so behind the block the distance is 0. With
 * CPU_WANT_IN_POLLS the span is counted there, too, at its head: a poll there adds the units of all its blocks, and the
 * distance is 0 behind each of them. Each entry has a distance. That of a trace's first entry is the distance of the
 * exit for which the trace is made; if it is made for no exit, 0. The ways to an entry:
 *
 *	exit to entry		linked if its distance is no greater than the entry's, else by a poll in front of
 *				the entry, a fragment without instructions: to translate the block again would break
 *				up its trace. A block that is translated later than the entry polls itself instead
 *	indirect branch		polls, by its lookup's index if its block has no place where no flags are live
 *	from the runtime	that has polled (cpu_poll_outside())
 *
 * So every way round in a circle leads over a poll. Guarded by dbt_lock.
 */
#ifndef DBT_POLLS_H
#define DBT_POLLS_H

#include "dbt/cache.h"

/* A block that would end at a greater distance than this polls, if it has a place where no flags are live; */
#define POLL_EVERY 40u
/* at a greater one than this it polls in any case. */
#define POLL_MAX 80u
_Static_assert(POLL_MAX <= CPU_POLL_UNITS, "cpu/bank.h");
/* A poll in front of an entry is for exits of several distances: up to the next multiple of this. */
#define POLL_STEP 16u

/* The exit may be linked to the entry. */
bool polls_link(u32 exit, u32 entry);

/* A poll in front of that entry, as an entry that the exit may be linked to: made if need be, with cache_has_room(). */
u32 polls_in_front(u32 exit, u32 entry);

/* The entry behind such a poll, if the entry is one and that is known; else the entry itself. Lock-free. */
u32 polls_behind(u32 entry);

#endif
