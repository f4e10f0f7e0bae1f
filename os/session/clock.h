/*
 * Clocks of event/host.h. host_clock_perf() stamps records: a linear function of the time-stamp counter, with the zero
 * and (as measured once in the session) the rate of CLOCK_MONOTONIC, where the TSC is invariant and the host's kernel
 * uses it; CLOCK_MONOTONIC itself elsewhere. So all members stamp alike, and what the guest computes from rdtsc and its
 * mapped page is the same number. The rate is measured over at least 3 ms of the session, and the first reader waits
 * for that. Plain counting never asks.
 */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include "abi/types.h"
#include "rt/arch.h"

/* Both clocks at one moment. */
struct clock_pair {
	u64 tsc, mono;
};

/* In struct arena. */
struct session_clock {
	struct clock_pair start; /* set by the launcher */
	u32 tsc_trusted;	 /* by the kernel for its own clock; set by the first member before the guest runs */
	u32 in_vdso;		 /* the kernel's vDSO computes it without a system call; likewise */
	u32 mult;		 /* ns = mono + ((tsc since then) * mult >> CLOCK_SHIFT); see enum */
};
enum { CLOCK_MULT_UNKNOWN, CLOCK_MULT_NONE /* the TSC is no clock */, CLOCK_MULT_FIRST };
#define CLOCK_SHIFT 31

/* The processor says that it counts at one rate, whatever else changes. */
bool clock_tsc_constant(void);
/* Asks the kernel, for session_clock.tsc_trusted and in_vdso. */
void clock_look_around(struct session_clock *clock);

/*
 * The vDSO is still mapped at `base`: the guest may have moved it, or done away with it. *seen is the caller's, for
 * this base only, 0 at first: as long as no mapping has changed since it was found there, it is not looked for again.
 * In os/mm/.
 */
bool clock_vdso_is_at(u64 base, u32 *seen);

static inline u64 clock_tsc(void)
{
	return arch_ticks();
}

/* The pair that was read fastest of several: `mono` gives CLOCK_MONOTONIC in ns. */
static inline struct clock_pair clock_read_pair(u64 (*mono)(void))
{
	struct clock_pair best = {0, 0};
	u64 best_cost = ~0ul;

	for (int i = 0; i < 16; i++) {
		u64 before = clock_tsc(), ns = mono(), cost = clock_tsc() - before;

		if (cost >= best_cost)
			continue;
		best_cost = cost;
		best = (struct clock_pair){before + cost / 2, ns};
	}
	return best;
}

#endif
