/* See by_function.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/by_function.h"
#include "cli/memory.h"

void by_function_begin(struct by_function *b, int period)
{
	*b = (struct by_function){.samples = {.work = period ? (u64)period : BY_FUNCTION_WORK}};
}

static void see(void *arg, const struct stack *st)
{
	struct by_function *b = arg;
	const struct function *f = functions_find(&b->functions, &st->who, st->ip[0]);

	if (f->number >= b->nr) {
		b->row = memory_resize(b->row, f->number + 1, sizeof(*b->row));
		for (; b->nr <= f->number; b->nr++)
			b->row[b->nr] = (struct function_row){.count = memory_zeroed((size_t)b->events, sizeof(u64))};
	}
	b->row[f->number].function = f;
	b->row[f->number].count[st->event] += st->samples * b->period[st->event];
}

static int by_count(const void *x, const void *y, void *arg)
{
	const struct function_row *a = x, *b = y;
	const struct by_function *all = arg;
	int differ;

	for (int e = 0; e < all->events; e++)
		if (a->count[e] != b->count[e])
			return a->count[e] > b->count[e] ? -1 : 1;
	differ = strcmp(a->function->name, b->function->name);
	return differ ? differ : strcmp(a->function->file, b->function->file);
}

void by_function_finish(struct by_function *b, const struct specs *specs, const u64 *total)
{
	b->events = specs->nr;
	b->period = memory_zeroed((size_t)b->events, sizeof(u64));
	b->rest = memory_zeroed((size_t)b->events, sizeof(u64));
	for (int e = 0; e < b->events; e++)
		b->period[e] = samples_period(&b->samples, &specs->spec[e]);
	functions_begin(&b->functions, &b->samples.spaces);
	stacks_each(&b->samples.stacks, see, b);
	if (b->nr)
		qsort_r(b->row, b->nr, sizeof(*b->row), by_count, b);
	for (int e = 0; e < b->events; e++) {
		u64 in = b->samples.taken[e] * b->period[e];

		b->rest[e] = total[e] > in ? total[e] - in : 0;
	}
}

double by_function_error(const struct by_function *b, int event, u64 part, u64 whole)
{
	double n = (double)b->samples.taken[event] / (double)MAX(b->samples.spaces.tasks, 1),
	       p = whole ? (double)part / (double)whole : 0;

	if (b->period[event] == 1 || n <= 0 || p > 1)
		return 0;
	return fmin(1, 2 * sqrt(p * (1 - p) / n));
}

void by_function_free(struct by_function *b)
{
	for (u32 i = 0; i < b->nr; i++)
		free(b->row[i].count);
	free(b->row);
	free(b->period);
	free(b->rest);
	functions_free(&b->functions);
	samples_free(&b->samples);
}
