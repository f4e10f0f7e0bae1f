/*
 * In CPU_WANT_LOOSE code, the blocks that look at limits: no two looks are to be much further apart than AGE_EVERY instructions, whichever way
 * the code goes.
 *
 * The age of a place is how many instructions there may have been since the last look. Each entry has one, and exits of no greater one are linked
 * to it; where another arrives, the block is translated again, and looks. Every way round in a circle leads over such a
 * block. Indirect branches are of AGE_STEP at most, so each entry is of no less.
 * Blocks whose flags are live throughout look only if they must; so one circle in some may do without, and is found by threads that are in it
 * for long (dbt_look()). Guarded by dbt_lock.
 */
#ifndef DBT_LOOKS_H
#define DBT_LOOKS_H

#include "dbt/cache.h"

#define AGE_EVERY 96u
/* Code that is entered by indirect branches, or for whatever reason, is taken to be of this age. */
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
