/*
 * Random calls, for tests with tests/unit/event/fake.h: numbers from a seed, which a failure prints and which can be
 * given as the argument. Included once by each test program.
 */
#ifndef TESTS_UNIT_EVENT_RANDOM_CALLS_H
#define TESTS_UNIT_EVENT_RANDOM_CALLS_H

#include "tests/unit/event/fake.h"

static u64 seed;

static inline u32 pick(u32 n)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return (u32)(seed >> 33) % n;
}

static inline void end_tasks(task_id last)
{
	for (task_id t = 2; t <= last; t++)
		if (fake[t].alive)
			fake_exit(t);
}

/* One session for each seed from 1 on, or for that of the argument alone. */
static inline int run_sessions(int argc, char **argv, void (*session)(void), u64 sessions)
{
	u64 first = argc > 1 ? strtoul(argv[1], NULL, 0) : 1, last = argc > 1 ? first : sessions;

	for (u64 s = first; s <= last; s++) {
		int before = unit_failures;

		seed = s;
		session();
		if (unit_failures != before)
			fprintf(stderr, "seed %lu\n", (unsigned long)s);
	}
	return unit_result();
}

#endif
