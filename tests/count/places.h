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

struct place {
	int task;
	uint64_t count;
};

static struct sampler {
	enum column column;
	uint64_t period;      /* 0: at each place */
	struct place *places; /* in their order */
	size_t place_count;
} samplers[SAMPLERS];
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
	const struct sampler *s = &samplers[which];
	struct place p = {task, count};

	if (s->period)
		return count % s->period == 0;
	return s->places && bsearch(&p, s->places, s->place_count, sizeof(p), compare_places);
}

/* Each line is the number of a task and one of its counts. */
static void read_places(struct sampler *s, const char *path)
{
	FILE *in = fopen(path, "re");
	struct place p;

	if (!in)
		die(path);
	while (fscanf(in, "%d %" SCNu64, &p.task, &p.count) == 2) {
		s->places = realloc(s->places, (s->place_count + 1) * sizeof(p));
		if (!s->places)
			die("realloc");
		s->places[s->place_count++] = p;
	}
	fclose(in);
	if (s->place_count)
		qsort(s->places, s->place_count, sizeof(p), compare_places);
}

/* COLUMN:PERIOD or COLUMN:@FILE */
static bool add_sampler(const char *text)
{
	const char *period = strchr(text, ':');
	struct sampler *s;

	if (!period || sampler_count == SAMPLERS)
		return false;
	s = &samplers[sampler_count++];
	s->column = atoi(text) % COLUMNS;
	if (period[1] == '@') {
		read_places(s, period + 2);
		return true;
	}
	s->period = strtoull(period + 1, NULL, 0);
	return s->period;
}

#endif
