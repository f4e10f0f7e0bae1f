/*
 * In CPU_WANT_LOOSE code, the blocks that look at limits: as a rule no two looks are much further apart than AGE_EVERY instructions, whichever way
 * the code goes.
 *
 * The age of a place is how many instructions there may have been since the last look. Each entry has one, and exits of no greater one are linked
 * to it. A block that leads to a younger place looks. Where it was translated before that place was, its exit leads over a look in front of the
 * entry, which is a fragment without instructions: to translate blocks again breaks up traces, which costs more than looking does. Only for a
 * look in front that is found to be hot is the block behind it translated again, and looks itself.
 *
 * Every way round in a circle so leads over a look, but for two kinds: no entry is taken to be younger than AGE_STEP, and those behind indirect
 * branches to be no older, because most of these are returns, and a look waits until the one before is counted; and where flags are live
 * throughout, blocks look only when they must. A thread that is in a circle without a look for long finds it (dbt_look()). Guarded by dbt_lock.
 */
#ifndef DBT_LOOKS_H
#define DBT_LOOKS_H

#include "dbt/cache.h"

#define AGE_EVERY 80u
/* Code that is entered by an indirect branch or from the dispatcher is taken to be of this age; none to be younger. */
#define AGE_STEP 32u
/* Even blocks whose flags are live look at that age. */
#define AGE_FAR 128u
/* So much greater may be an exit's age than its entry's, on the way forward: fewer looks. */
#define AGE_SLACK 32u
#define AGE_MAX 254u
#define AGE_ANY 255u /* of an entry that looks */

/* The block at pc was asked to look. */
bool looks_asked(u64 pc);

/*
 * The thread stopped at that look twice, and looked long in between. If it is in a loop of one block, that is there several times from now on; if
 * it is in front of a block, the block looks itself.
 */
void looks_hot(u32 exit);

/* So much older than an entry at target may an exit be of what begins at `from`: none on the way back, where circles close. */
static inline u32 looks_slack(u64 from, u64 target)
{
	return target > from ? AGE_SLACK : 0;
}

/* The exit may be linked to the entry. */
bool looks_link(u32 exit, u32 entry);

/* A look in front of that entry, as an entry that exits are linked to: made if need be, with cache_has_room(). */
u32 looks_in_front(u32 entry);

/* If it is such a one, the entry that it leads to, as far as that is known; else itself. Lock-free. */
u32 looks_behind(u32 entry);

#endif
