/* Where the oracle takes samples: -s COLUMN:PERIOD and -s COLUMN:@FILE. */
#ifndef TESTS_COUNT_PLACES_H
#define TESTS_COUNT_PLACES_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum column { INSTRUCTIONS, BRANCHES, COND, TAKEN, CALLS, RETURNS, INDIRECT, LOADS, STORES, SYSCALLS, COLUMNS };

#define SAMPLERS 32

static struct {
	enum column column;
	uint64_t period; /* 0: at each place */
} samplers[SAMPLERS];
static struct place {
	int task;
	uint64_t count;
} *places; /* in their order */
static size_t place_count;
static int sampler_count;

static void die(const char *what)
{
	fprintf(stderr, "oracle: %s: %s\n", what, strerror(errno));
	exit(125);
}

static int compare_places(const void *a, const void *b)
{
	const struct place *p = a, *q = b;

	return p->task != q->task ? (p->task > q->task) - (p->task < q->task)
				  : (p->count > q->count) - (p->count < q->count);
}

/* Sampler `which` takes a sample at that count of the task. */
static bool is_place(int task, int which, uint64_t count)
{
	struct place p = {task, count};

	if (samplers[which].period)
		return count % samplers[which].period == 0;
	return bsearch(&p, places, place_count, sizeof(p), compare_places);
}

/* Each line is the number of a task and one of its counts. */
static void read_places(const char *path)
{
	FILE *in = fopen(path, "re");
	struct place p;

	if (!in)
		die(path);
	while (fscanf(in, "%d %" SCNu64, &p.task, &p.count) == 2) {
		places = realloc(places, (place_count + 1) * sizeof(p));
		if (!places)
			die("realloc");
		places[place_count++] = p;
	}
	fclose(in);
	qsort(places, place_count, sizeof(p), compare_places);
}

/* COLUMN:PERIOD or COLUMN:@FILE */
static bool add_sampler(const char *text)
{
	const char *period = strchr(text, ':');

	if (!period || sampler_count == SAMPLERS)
		return false;
	samplers[sampler_count].column = atoi(text) % COLUMNS;
	if (period[1] == '@') {
		read_places(period + 2);
		sampler_count++;
		return true;
	}
	samplers[sampler_count].period = strtoull(period + 1, NULL, 0);
	return samplers[sampler_count++].period;
}

#endif
