/*
 * Statistics of a session, for --stats. The rows are in rt/stats.def.
 *
 * The counters are in the arena, so that those of dead members stay. Until os/ has set stats_place they go to a private
 * place that nobody reads. Adding is atomic; counts are for people, never for decisions.
 */
#ifndef RT_STATS_H
#define RT_STATS_H

#include "abi/types.h"

struct stats {
#define STAT(name, text) u64 name;
#include "rt/stats.def"
#undef STAT
};

extern struct stats *stats_place;

#define stat_add(name, n) ((void)__atomic_fetch_add(&stats_place->name, (u64)(n), __ATOMIC_RELAXED))
#define stat_inc(name) stat_add(name, 1)

/* Writes one line per counter that is not 0, each ended by a newline. Returns the length, as rt_append. */
size_t stats_print(char *buf, size_t size, const struct stats *s);

#endif
