/*
 * In CPU_WANT_LOOSE code, the blocks that look at limits: as a rule no two looks are much further apart than AGE_EVERY instructions, whichever way
 * the code goes.
 *
 * The age of a place is how many instructions there may have been since the last look. Each entry has one, and exits of no greater one are linked
 * to it; where another arrives, the block is translated again, and looks. So does a block that leads back to a younger place. Every way round in
 * a circle so leads over a look, but for two kinds: no entry is taken to be younger than AGE_STEP, and those behind indirect branches to be no older,
 * because most of these are returns, and a look waits until the one before is counted; and where flags are live throughout, blocks look only when
 * they must. A thread that is in a circle without a look for long finds it (dbt_look()). Guarded by dbt_lock.
 */
#ifndef DBT_LOOKS_H
#define DBT_LOOKS_H

#include "dbt/cache.h"

#define AGE_EVERY 80u
/* Code that is entered by an indirect branch or from the dispatcher is taken to be of this age; none to be younger. */
#define AGE_STEP 32u
/* Even blocks whose flags are live look at that age. */
#define AGE_FAR 128u
/* So much greater may be an exit's age than its entry's: less translating again. */
#define AGE_SLACK 32u
#define AGE_MAX 254u
#define AGE_ANY 255u /* of an entry that looks */

/* The block at pc was asked to look. */
bool looks_asked(u64 pc);

/* The exit may be linked to the entry. */
bool looks_link(u32 exit, u32 entry);

/* The block at pc is to look from now on. */
void looks_ask(u64 pc);

#endif
