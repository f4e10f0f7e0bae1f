/*
 * Statistics of a session, for --stats. The rows are in rt/stats.def.
 *
 * The counters are in the arena, so that those of dead members stay. Each thread has its own, to which only it adds,
 * without any locked instruction: some are advanced for every sample. Before it has these it adds to stats_place.
 * Counts are for people, never for decisions.
 */
#ifndef RT_STATS_H
#define RT_STATS_H

#include "abi/types.h"
#include "rt/arch.h"

struct stats {
#define STAT(name, text) u64 name;
#include "rt/stats.def"
#undef STAT
};

/* Atomic adds by everyone. Until os/ has set it, a private place that nobody reads. */
extern struct stats *stats_place;
/* The calling thread's; NULL: it has none. */
struct stats *stats_self(void);

/* One instruction: a signal handler adds too. */
static inline void stats_add_own(u64 *p, u64 n)
{
	arch_add(p, n);
}

#define stat_add(name, n)                                                                                              \
	do {                                                                                                           \
		struct stats *own_ = stats_self();                                                                     \
		if (own_)                                                                                              \
			stats_add_own(&own_->name, (u64)(n));                                                          \
		else                                                                                                   \
			(void)__atomic_fetch_add(&stats_place->name, (u64)(n), __ATOMIC_RELAXED);                      \
	} while (0)
#define stat_inc(name) stat_add(name, 1)

void stats_sum(struct stats *to, const struct stats *from);

/* Writes one line per counter that is not 0, each ended by a newline. Returns the length, as rt_append. */
size_t stats_print(char *buf, size_t size, const struct stats *s);

#endif
