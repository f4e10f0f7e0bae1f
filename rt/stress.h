/*
 * Ways that are seldom gone, taken all the time: --stress=WORD,WORD. Nothing that a guest can see changes but time. Set
 * once, before the guest runs.
 *
 *   full      a half of the code cache is full after STRESS_FRAGS fragments
 *   poll      every poll stops (cpu/bank.h)
 *   restart   every section is put back once at its end and restarts (rt/section.h), one in STRESS_LATE a while later
 *   checked   all code compares the guest's bytes before it runs, as where its page is often written (dbt/guest_code.h)
 *   fail      a check fails when the program ends: what is printed then can be looked at
 */
#ifndef RT_STRESS_H
#define RT_STRESS_H

#include "abi/types.h"

/* In the order of the words in cli/options.def. */
#define STRESS_FULL 1u
#define STRESS_POLL 2u
#define STRESS_RESTART 4u
#define STRESS_CHECKED 8u
#define STRESS_FAIL 16u

#define STRESS_FRAGS 48u
#define STRESS_LATE 8u
#define STRESS_PAUSES 5000u

extern u32 stress_ways;

static inline bool stress(u32 way)
{
	return unlikely(stress_ways & way);
}

#endif
