/* See check.h. The process is a guest: cli/main.c has seen to that. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "cli/baseline.h"
#include "cli/check.h"
#include "cli/check_functions.h"
#include "cli/count.h"
#include "cli/event_names.h"
#include "cli/launch.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/print.h"
#include "cli/processor.h"
#include "cli/regions.h"
#include "cli/stay.h"
#include "cli/utf8.h"

#define DEFAULT_EVENTS	  "instructions,branches"
#define DEFAULT_TOLERANCE 0.1 /* per cent */
#define SUMMARY		  "GITHUB_STEP_SUMMARY"

static const struct option_row rows[] = {
#define OPTION(kind, letter, name, field, argument, help)                                                              \
	OPTION_ROW(check_options, kind, letter, name, field, argument, help)
#include "cli/check.def"
#undef OPTION
};

const struct option_table check_table = {"pcl check", rows, ARRAY_SIZE(rows), true};

static char *join(char **argv)
{
	size_t size = 1;
	char *text, *to;

	for (char **word = argv; *word; word++)
		size += strlen(*word) + 1;
	text = to = memory_zeroed(size, 1);
	for (char **word = argv; *word; word++)
		to += sprintf(to, "%s%s", word > argv ? " " : "", *word);
	return text;
}

double check_change(const struct comparison *c)
{
	double before = (double)c->before, now = (double)c->now;

	return c->before == c->now ? 0 : c->before ? 100 * (now - before) / before : INFINITY;
}

static enum verdict judge(const struct comparison *c, double tolerance)
{
	if (!strcmp(c->class, MEASURED) || !strcmp(c->class, ESTIMATED) || !strcmp(c->class, UNCOUNTED))
		return VERDICT_NOT_JUDGED;
	if (c->now == c->before)
		return VERDICT_SAME;
	if (check_change(c) > tolerance)
		return VERDICT_REGRESSION;
	return check_change(c) < -tolerance ? VERDICT_BETTER : VERDICT_WITHIN;
}

static void compare(struct check *check, const struct baseline *b, const struct counts *counts)
{
	check->event = memory_zeroed((size_t)counts->specs.nr, sizeof(*check->event));
	check->nr = counts->specs.nr;
	for (int e = 0; e < check->nr; e++) {
		const struct spec *s = &counts->specs.spec[e];
		struct comparison *c = &check->event[e];

		*c = (struct comparison){.key = s->text,
					 .event = s->name,
					 .class = s->class,
					 .is_time = s->is_time,
					 .now = counts->summary[e].median};
		c->verdict = baseline_count(b, s->text, &c->before) ? judge(c, check->tolerance) : VERDICT_NEW;
		check->regressions += c->verdict == VERDICT_REGRESSION;
		check->better += c->verdict == VERDICT_BETTER;
		check->fresh += c->verdict == VERDICT_NEW;
		check->unjudged += c->verdict == VERDICT_NOT_JUDGED;
	}
}

/* A count that is compared with an estimate differs for no reason. */
static bool has_estimates(const struct check *check)
{
	for (int e = 0; e < check->nr; e++) {
		const struct comparison *c = &check->event[e];

		if (strcmp(c->class, ESTIMATED) && strcmp(c->class, UNCOUNTED))
			continue;
		fprintf(stderr, "pcl check: %s: nothing is written: %s had to wait for a counter (--counters)\n",
			check->label, c->event);
		return true;
	}
	return false;
}

/* Others may have changed the file since it was read. */
static int update(struct check *check, const struct counts *counts)
{
	struct baseline *b = has_estimates(check) ? NULL : baseline_read_to_write(check->file);
	int failed;

	if (!b)
		return LAUNCH_FAILED;
	baseline_begin(b, check->name, counts->argv, processor_brand());
	for (int e = 0; e < check->nr; e++)
		baseline_put(b, check->event[e].key, check->event[e].now);
	if (counts->functions)
		check_functions_update(b, counts);
	check->updated = true;
	failed = baseline_write(b);
	baseline_free(b);
	return failed ? LAUNCH_FAILED : 0;
}

static int print(const struct check *c, const struct check_options *o, FILE *f)
{
	const char *summary = getenv(SUMMARY);

	output_begin(f);
	if (o->json)
		check_print_json(c, f);
	else
		check_print_table(c, f);
	if (o->github)
		check_print_github(c, stderr); /* the runner reads what the job prints */
	if (fflush(f) || ferror(f)) {
		fprintf(stderr, "pcl check: cannot write %s: %s\n", o->output ? o->output : "the result",
			strerror(errno));
		return LAUNCH_FAILED;
	}
	if (o->github && summary && *summary && check_append_summary(c, summary)) {
		fprintf(stderr, "pcl check: cannot write " SUMMARY " (%s): %s\n", summary, strerror(errno));
		return LAUNCH_FAILED;
	}
	return 0;
}

const char *check_nothing(const struct check *c)
{
	if (c->updated || c->fresh + c->unjudged < c->nr)
		return NULL;
	if (!c->unjudged)
		return "the baseline has none of these events (--update writes them)";
	return c->fresh ? "no event is both in the baseline and exact or modelled"
			: "measured counts and estimates are not judged";
}

/* What the table says at its end, for those who do not see it. The exit status. */
static int conclude(const struct check *check, const struct check_options *o)
{
	const char *nothing = check_nothing(check);

	if (nothing && (o->json || o->output))
		fprintf(stderr, "pcl check: %s: nothing was compared: %s\n", check->label, nothing);
	return nothing ? LAUNCH_FAILED : check->regressions && !check->updated ? CHECK_REGRESSION : 0;
}

/* With --regions, of a program without any: its counts are 0, and no result. */
static bool is_uncounted(const struct check *check, const struct counts *c)
{
	if (c->run[0].reading[0].enabled)
		return false;
	fprintf(stderr, "pcl check: %s was never counted: %s\n", check->label, counting_why_never(&c->run[0], 0));
	return true;
}

static int complain_unknown(const struct check *check, const struct baseline *b)
{
	const char *nearest = baseline_nearest(b, check->name);

	fprintf(stderr, "pcl check: %s has no benchmark \"%s\"%s", check->file, check->label, nearest ? "; is \"" : "");
	if (nearest)
		print_text(nearest, stderr);
	fprintf(stderr, "%s (--update adds it)\n", nearest ? "\" meant?" : "");
	return LAUNCH_FAILED;
}

/* What was counted: compares, writes, prints. */
static int check_counts(const struct check_options *o, struct check *check, const struct baseline *b,
			const struct counts *counts, FILE *f)
{
	const char *cpu = o->update ? NULL : baseline_cpu(b);
	struct check_functions functions = {0};
	char note[2][PRINT_NOTE];
	int status;

	if (is_uncounted(check, counts))
		return LAUNCH_FAILED;
	check->notes[0] = print_still_running(note[0], counts);
	check->notes[1] = print_leavers(note[1], counts);
	check->still_running = count_still_running(counts);
	check->leavers = count_leavers(counts);
	check->other_cpu = cpu && strcmp(cpu, processor_brand()) ? cpu : NULL;
	compare(check, b, counts);
	if (o->by_function) {
		check_functions_compare(&functions, b, counts);
		check->functions = &functions;
	}
	status = o->update ? update(check, counts) : 0;
	if (!status)
		status = print(check, o, f);
	if (!status)
		status = conclude(check, o);
	check_functions_free(&functions);
	free(check->event);
	return status;
}

static int check_benchmark(const struct check_options *o, struct check *check, struct baseline *b, char **argv, FILE *f)
{
	const struct count_parts parts = {.by_function = o->by_function};
	bool known = baseline_choose(b, check->name);
	struct counts counts = {0};
	char *events;
	int status;

	if (!known && !o->update)
		return complain_unknown(check, b);
	events = known && !o->events ? baseline_events(b) : memory_text(o->events ? o->events : DEFAULT_EVENTS);
	status = events ? count_runs(events, o->runs, argv, &parts, &counts) : LAUNCH_FAILED;
	if (!status && counts.run[counts.runs - 1].status) {
		fprintf(stderr, "pcl check: %s did not end well: nothing is compared\n", check->label);
		stay_end_as(counts.run[counts.runs - 1].status);
	}
	if (!status)
		status = check_counts(o, check, b, &counts, f);
	count_free(&counts);
	free(events);
	return status;
}

static int check_options_given(const struct check_options *o, bool no_program)
{
	const char *wrong = NULL;

	if (!o->baseline)
		wrong = "--baseline=FILE must be given";
	else if (no_program)
		wrong = "no program given";
	else if (o->runs < 1)
		wrong = "--runs takes a number above 0";
	else if (o->by_function && o->runs > 1)
		wrong = "--by-function is of one run";
	else if (o->by_function && regions_are_wanted())
		wrong = "--by-function is of whole programs, not of --regions";
	if (wrong)
		fprintf(stderr, "pcl check: %s (see pcl --help)\n", wrong);
	return wrong ? LAUNCH_FAILED : 0;
}

int check_main(int argc, char **argv)
{
	struct check_options o = {.runs = 1, .tolerance = DEFAULT_TOLERANCE};
	int first = options_read(&check_table, argc, argv, &o), status;
	struct check check = {0};
	struct baseline *b;
	char *command, *label;
	FILE *f;

	if (first < 0 || check_options_given(&o, first == argc))
		return LAUNCH_FAILED;
	f = o.output ? output_open(o.output) : stderr;
	if (!f) {
		fprintf(stderr, "pcl check: %s: %s\n", o.output, strerror(errno));
		return LAUNCH_FAILED;
	}
	b = baseline_read(o.baseline, o.update);
	if (!b)
		return LAUNCH_FAILED;
	command = join(argv + first);
	check.name = o.name ? o.name : command;
	label = utf8_printable(check.name);
	check.label = label;
	check.file = o.baseline;
	check.tolerance = o.tolerance;
	status = check_benchmark(&o, &check, b, argv + first, f);
	baseline_free(b);
	free(command);
	free(label);
	return status;
}
