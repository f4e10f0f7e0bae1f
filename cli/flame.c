/* See flame.h. The process is a guest: cli/main.c has seen to that, and that call chains are complete. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/flame.h"
#include "cli/flame_svg.h"
#include "cli/launch.h"
#include "cli/output.h"
#include "cli/regions.h"
#include "cli/print.h"
#include "cli/samples.h"
#include "cli/stay.h"

#define DEFAULT_EVENT	 "instructions"
#define DEFAULT_SMALLEST 0.01 /* per cent */
#define FLAME_WORK	 10007 /* a prime: loops have other lengths */
#define NO_PERIOD	 (-2)  /* not given: the parser takes no such number */
#define LONGEST_CHAIN	 127   /* perf_event_max_stack */
#define LEAST_TIME	 50000 /* ns */
#define NOTE		 512

static const struct option_row rows[] = {
#define OPTION(kind, letter, name, field, argument, help)                                                              \
	OPTION_ROW(flame_options, kind, letter, name, field, argument, help)
#include "cli/flame.def"
#undef OPTION
};

const struct option_table flame_table = {"pcl flame", rows, ARRAY_SIZE(rows), true};

static int check_options(const struct flame_options *o, bool no_program)
{
	const char *wrong = NULL;

	if (no_program)
		wrong = "no program given";
	else if (!o->output)
		wrong = "--output=FILE must be given";
	else if (o->period != NO_PERIOD && o->period < 1)
		wrong = "--period takes a number above 0";
	else if (o->smallest > 100)
		wrong = "--smallest takes a percentage from 0 to 100, as 0.01%";
	else if (regions_are_wanted())
		wrong = "the picture is of whole programs, not of --regions";
	if (wrong)
		fprintf(stderr, "pcl flame: %s (see pcl --help)\n", wrong);
	return wrong ? LAUNCH_FAILED : 0;
}

static int parse_event(const char *text, struct specs *specs)
{
	if (specs_parse(text, specs))
		return LAUNCH_FAILED;
	if (specs->nr == 1)
		return 0;
	fprintf(stderr, "pcl flame: \"%s\" are %d events, and a picture is of one\n", text, specs->nr);
	return LAUNCH_FAILED;
}

/* A sample of a clock costs some ten microseconds, which are counted too. */
static int check_period(const struct spec *s, int period)
{
	if (!s->is_time || period == NO_PERIOD || period >= LEAST_TIME)
		return 0;
	fprintf(stderr, "pcl flame: the --period of %s is in ns, %d at least\n", s->name, LEAST_TIME);
	return LAUNCH_FAILED;
}

static void see_cut(void *arg, const struct stack *st)
{
	if (st->nr >= LONGEST_CHAIN)
		*(u64 *)arg += st->samples;
}

/* The sum is the event's own; shares are of samples. */
static void make_note(char note[NOTE], const struct samples *s, const struct spec *spec, u64 total)
{
	char count[PRINT_COUNT], period[PRINT_COUNT];
	u64 cut = 0;
	int n;

	print_count(count, total, spec->is_time);
	print_count(period, samples_period(s, spec), spec->is_time);
	n = snprintf(note, NOTE, "%s in all (%s); %lu samples, one each %s", count, spec->class, s->taken[0], period);
	stacks_each(&s->stacks, see_cut, &cut);
	if (cut)
		n += snprintf(note + n, NOTE - (size_t)n, "; %lu have callers beyond the %d that a sample has room for",
			      cut, LONGEST_CHAIN);
	if (samples_period(s, spec) == 1 && total > s->taken[0]) /* the number of lost records may be too small */
		fprintf(stderr,
			"pcl flame: records found no room, and %lu of %s are missing; a greater --period helps\n",
			total - s->taken[0], spec->name);
	else if (s->lost)
		fprintf(stderr, "pcl flame: %lu records found no room and are missing; a greater --period helps\n",
			s->lost);
	if (s->lost)
		snprintf(note + n, NOTE - (size_t)n, "; %lu records lost", s->lost);
	if (!s->taken[0] && total)
		fprintf(stderr, "pcl flame: no sample: %s of %s is less than a period of %s (--period)\n", count,
			spec->name, period);
}

static int draw(struct samples *s, const struct flame_options *o, const struct spec *spec, u64 total, char **argv,
		FILE *f)
{
	struct functions functions;
	struct flame_node *root;
	char note[NOTE];
	int failed;

	functions_begin(&functions, &s->spaces);
	root = flame_tree_make(s, &functions);
	make_note(note, s, spec, total);
	output_begin(f);
	flame_svg_write(&(struct flame_picture){.root = root,
						.argv = argv,
						.event = spec->name,
						.note = note,
						.period = samples_period(s, spec),
						.is_time = spec->is_time,
						.smallest = o->smallest / 100},
			f);
	failed = fflush(f) || ferror(f);
	if (failed)
		fprintf(stderr, "pcl flame: cannot write %s: %s\n", o->output, strerror(errno));
	flame_tree_free(root);
	functions_free(&functions);
	return failed ? LAUNCH_FAILED : 0;
}

/* Counts and draws. *ended: what the program ended with. */
static int flame_program(const struct flame_options *o, struct specs *specs, char **argv, int *ended)
{
	struct samples s = {.work = FLAME_WORK, .chains = true, .period = o->period == NO_PERIOD ? 0 : (u64)o->period};
	struct run run = {0};
	FILE *f = output_open(o->output);
	int status;

	if (!f) {
		fprintf(stderr, "pcl flame: %s: %s\n", o->output, strerror(errno));
		return LAUNCH_FAILED;
	}
	status = counting_watched(specs, argv, &samples_watcher, &s, &run);
	if (!status && !run.reading[0].running)
		fprintf(stderr, "pcl flame: nothing was counted: %s\n", counting_why_never(&run, 0));
	if (!status)
		status = draw(&s, o, &specs->spec[0], run.reading[0].count, argv, f);
	*ended = run.status;
	samples_free(&s);
	free(run.reading);
	return status;
}

int flame_main(int argc, char **argv)
{
	struct flame_options o = {.period = NO_PERIOD, .smallest = DEFAULT_SMALLEST};
	int first = options_read(&flame_table, argc, argv, &o), status, ended = 0;
	struct specs specs = {0};

	if (first < 0 || check_options(&o, first == argc))
		return LAUNCH_FAILED;
	status = parse_event(o.event ? o.event : DEFAULT_EVENT, &specs);
	if (!status)
		status = check_period(&specs.spec[0], o.period);
	if (!status)
		status = flame_program(&o, &specs, argv + first, &ended);
	specs_free(&specs);
	if (status)
		return status;
	stay_end_as(ended);
}
