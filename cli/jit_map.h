/*
 * What a compiler at run time says of its code in /tmp/perf-PID.map: lines of START SIZE NAME, numbers in hexadecimal.
 * Nobody takes such files away, and numbers of processes are used again, with --pin=pids in each run: a file that was
 * last written before the run is another process's.
 */
#ifndef CLI_JIT_MAP_H
#define CLI_JIT_MAP_H

#include <time.h>
#include "abi/types.h"

struct jit_map {
	struct jit_code *code; /* by address */
	size_t nr;
};

/* Before the run: the time, as files get it. It is another one than that of clocks with --pin=clock. */
struct timespec jit_map_now(void);

/* Without such a file of then or later there is nothing in it. */
void jit_map_read(struct jit_map *m, u32 pid, const struct timespec *since);

/* Of code that was written over, what came last. NULL: none. */
const char *jit_map_find(const struct jit_map *m, u64 address);

void jit_map_free(struct jit_map *m);

#endif
