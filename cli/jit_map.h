/* What a compiler at run time says of its code in /tmp/perf-PID.map: lines of START SIZE NAME, numbers in hexadecimal.
 */
#ifndef CLI_JIT_MAP_H
#define CLI_JIT_MAP_H

#include "abi/types.h"

struct jit_map {
	struct jit_code *code; /* by address */
	size_t nr;
};

/* Without such a file there is nothing in it. */
void jit_map_read(struct jit_map *m, u32 pid);

/* Of code that was written over, what came last. NULL: none. */
const char *jit_map_find(const struct jit_map *m, u64 address);

void jit_map_free(struct jit_map *m);

#endif
