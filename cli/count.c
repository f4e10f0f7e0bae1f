/* See count.h. The process is a guest: cli/main.c has seen to that. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/count.h"
#include "cli/launch.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/print.h"
#include "cli/regions.h"
#include "cli/stay.h"

#define NO_PERIOD (-2) /* not given: the parser takes no such number */

static const struct option_row rows[] = {
#define OPTION(kind, letter, name, field, argument, help)                                                              \
	OPTION_ROW(count_options, kind, letter, name, field, argument, help)
#include "cli/count.def"
#undef OPTION
};

const struct option_table count_table = {"pcl count", rows, ARRAY_SIZE(rows), true};

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static int summarize(struct counts *c)
{
	c->summary = calloc((size_t)c->specs.nr, sizeof(*c->summary));
	for (int e = 0; c->summary && e < c->specs.nr; e++) {
		struct summary *s = &c->summary[e];

		s->value = malloc((size_t)c->runs * sizeof(*s->value));
		if (!s->value)
			return LAUNCH_FAILED;
		for (int r = 0; r < c->runs; r++)
			s->value[r] = c->run[r].reading[e].count;
		qsort(s->value, (size_t)c->runs, sizeof(*s->value), by_value);
		s->min = s->value[0];
		s->median = s->value[(c->runs - 1) / 2];
		s->max = s->value[c->runs - 1];
	}
	return c->summary ? 0 : LAUNCH_FAILED;
}

static void finish_shares(struct counts *c)
{
	struct run *run = &c->run[0];
	u64 *total = calloc((size_t)c->specs.nr, sizeof(*total));

	for (int e = 0; total && e < c->specs.nr; e++)
		total[e] = run->reading[e].count;
	if (total)
		tasks_finish(&run->tasks, total, c->per_process);
	free(total);
}

static void finish_functions(struct counts *c)
{
	u64 *total = memory_zeroed((size_t)c->specs.nr, sizeof(*total));

	for (int e = 0; e < c->specs.nr; e++)
		total[e] = c->run[0].reading[e].count;
	by_function_finish(c->functions, &c->specs, total);
	free(total);
}

static int run_once(struct counts *c, struct run *run)
{
	if (!c->functions)
		return counting_run(&c->specs, c->argv, c->per_process || c->per_thread, run);
	return counting_watched(&c->specs, c->argv, &samples_watcher, &c->functions->samples, run);
}

static struct run *add_run(struct counts *c)
{
	if (!(c->runs & (c->runs - 1)))
		c->run = memory_resize(c->run, c->runs ? (size_t)c->runs * 2 : 1, sizeof(*c->run));
	c->run[c->runs] = (struct run){0};
	return &c->run[c->runs++];
}

int count_runs(const char *events, int runs, char **argv, const struct count_parts *parts, struct counts *out)
{
	int status = 0;

	*out = (struct counts){
		.argv = argv, .wanted = runs, .per_process = parts->per_process, .per_thread = parts->per_thread};
	if (specs_parse(events, &out->specs))
		return LAUNCH_FAILED;
	if (parts->by_function) {
		out->functions = memory_zeroed(1, sizeof(*out->functions));
		by_function_begin(out->functions, parts->period);
	}
	while (!status && out->runs < runs) {
		struct run *run = add_run(out);

		status = run_once(out, run);
		if (run->status)
			break;
	}
	if (status)
		return status;
	if (out->per_process || out->per_thread)
		finish_shares(out);
	if (out->functions)
		finish_functions(out);
	return summarize(out);
}

int count_still_running(const struct counts *c)
{
	int most = c->run[0].still_running;

	for (int r = 1; r < c->runs; r++)
		most = MAX(most, c->run[r].still_running);
	return most;
}

int count_leavers(const struct counts *c)
{
	int most = 0;

	for (int r = 0; r < c->runs; r++)
		most = MAX(most, c->run[r].leavers);
	return most;
}

void count_free(struct counts *c)
{
	for (int e = 0; c->summary && e < c->specs.nr; e++)
		free(c->summary[e].value);
	for (int r = 0; r < c->runs; r++) {
		for (int i = 0; i < c->run[r].tasks.nr; i++)
			free(c->run[r].tasks.task[i].count);
		free(c->run[r].tasks.task);
		free(c->run[r].reading);
	}
	if (c->functions)
		by_function_free(c->functions);
	free(c->functions);
	specs_free(&c->specs);
	free(c->summary);
	free(c->run);
}

static int check_options(const struct count_options *o, bool no_program)
{
	int parts = !!o->per_process + !!o->per_thread + !!o->by_function;
	const char *wrong = NULL;

	if (no_program)
		wrong = "no program given";
	else if (o->runs < 1)
		wrong = "--runs takes a number above 0";
	else if (o->json && o->csv)
		wrong = "--json and --csv are two forms";
	else if (parts > 1)
		wrong = "--per-process, --per-thread and --by-function are three forms";
	else if (parts && o->runs > 1)
		wrong = "--per-process, --per-thread and --by-function are of one run";
	else if (o->by_function && regions_are_wanted())
		wrong = "--by-function is of whole programs, not of --regions";
	else if (o->period != NO_PERIOD && (o->period < 1 || !o->by_function))
		wrong = "--period takes a number above 0 and goes with --by-function";
	if (wrong)
		fprintf(stderr, "pcl count: %s (see pcl --help)\n", wrong);
	return wrong ? LAUNCH_FAILED : 0;
}

static FILE *open_output(const char *path)
{
	FILE *f = path ? output_open(path) : stderr;

	if (!f)
		fprintf(stderr, "pcl count: %s: %s\n", path, strerror(errno));
	return f;
}

static int print(const struct counts *c, const struct count_options *o, FILE *f)
{
	output_begin(f);
	if (o->json)
		print_json(c, f);
	else if (o->csv)
		print_csv(c, f);
	else
		print_table(c, f);
	if (!fflush(f) && !ferror(f))
		return 0;
	fprintf(stderr, "pcl count: cannot write %s: %s\n", o->output ? o->output : "the counts", strerror(errno));
	return LAUNCH_FAILED;
}

int count_main(int argc, char **argv)
{
	struct count_options o = {.runs = 1, .period = NO_PERIOD};
	int first = options_read(&count_table, argc, argv, &o), status;
	struct count_parts parts;
	struct counts c;
	FILE *f;

	if (first < 0 || check_options(&o, first == argc))
		return LAUNCH_FAILED;
	f = open_output(o.output);
	if (!f)
		return LAUNCH_FAILED;
	if (!o.events)
		o.events = o.by_function ? BY_FUNCTION_DEFAULT : COUNT_DEFAULT;
	parts = (struct count_parts){o.per_process, o.per_thread, o.by_function, o.period == NO_PERIOD ? 0 : o.period};
	status = count_runs(o.events, o.runs, argv + first, &parts, &c);
	if (!status && print(&c, &o, f))
		status = LAUNCH_FAILED;
	if (status) {
		count_free(&c);
		return status;
	}
	status = c.run[c.runs - 1].status;
	count_free(&c);
	stay_end_as(status);
}
