/* pcl count --by-function: the functions that counts are in, by samples at a fixed period. */
#ifndef CLI_BY_FUNCTION_H
#define CLI_BY_FUNCTION_H

#include "cli/functions.h"
#include "cli/samples.h"

#define BY_FUNCTION_WORK 1009 /* a prime: loops have other lengths */

struct function_row {
	const struct function *function;
	u64 *count; /* of each event: samples times period */
};

struct by_function {
	struct samples samples;
	struct functions functions;
	struct function_row *row; /* greatest count of the first event first */
	u32 nr;
	int events;
	u64 *period, *rest; /* of each event; rest: of its exact count, what no sample stands for */
};

/* Before the run. period: of what instructions are made of, 0 if nobody said. */
void by_function_begin(struct by_function *b, int period);

/* After it: rows from samples. total: the exact count of each event. */
void by_function_finish(struct by_function *b, const struct specs *specs, const u64 *total);

/*
 * What a share of `part` of `whole` may be wrong by, as a part of 1: two standard deviations of samples drawn at
 * random, of as many as a task has in the mean, since each task begins a period of its own and tasks that do the same
 * are sampled at the same places. 1 at most; 0 for a period of 1, which is exact.
 */
double by_function_error(const struct by_function *b, int event, u64 part, u64 whole);

void by_function_free(struct by_function *b);

#endif
