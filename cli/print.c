/* See print.h: the table. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "cli/event_names.h"
#include "cli/print.h"
#include "cli/print_functions.h"
#include "cli/utf8.h"

#define NS_PER_MS 1e6
#define CLASS	  9 /* the longest one's width */

const char *print_count(char text[PRINT_COUNT], u64 value, bool is_time)
{
	char digits[24];
	size_t n, out = 0;

	if (is_time) {
		snprintf(text, PRINT_COUNT, "%.3f ms", (double)value / NS_PER_MS);
		return text;
	}
	n = (size_t)snprintf(digits, sizeof(digits), "%lu", value);
	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			text[out++] = ',';
		text[out++] = digits[i];
	}
	text[out] = 0;
	return text;
}

/* The event of that type and number, by its median. -1: it is not there. */
static double value_of(const struct counts *c, u32 type, u64 config)
{
	for (int e = 0; e < c->specs.nr; e++)
		if (c->specs.spec[e].attr.type == type && c->specs.spec[e].attr.config == config)
			return (double)c->summary[e].median;
	return -1;
}

/* What the count is of another one. */
static void make_share(const struct counts *c, int e, char *text, size_t size)
{
	const struct perf_event_attr *a = &c->specs.spec[e].attr;
	double instructions = value_of(c, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS),
	       v = (double)c->summary[e].median;
	double elapsed = (double)c->run[(c->runs - 1) / 2].elapsed;

	*text = 0;
	if (!strcmp(c->specs.spec[e].class, UNCOUNTED))
		return;
	if (c->specs.spec[e].is_time) {
		if (c->runs == 1 && elapsed > 0)
			snprintf(text, size, "%.2f CPUs used", v / elapsed);
	} else if (instructions <= 0 || (a->type == PERF_TYPE_HARDWARE && a->config == PERF_COUNT_HW_INSTRUCTIONS)) {
		return;
	} else if (a->type == PERF_TYPE_HARDWARE && a->config == PERF_COUNT_HW_CPU_CYCLES) {
		if (v > 0)
			snprintf(text, size, "%.2f instructions per cycle", instructions / v);
	} else if (a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_RAW) {
		snprintf(text, size, "%.1f %% of instructions", 100 * v / instructions);
	}
}

void print_text(const char *text, FILE *f)
{
	char *printable = utf8_printable(text);

	fputs(printable, f);
	free(printable);
}

static bool shares(const struct counts *c)
{
	return c->per_process || c->per_thread;
}

const char *print_still_running(char text[PRINT_NOTE], const struct counts *c)
{
	const char *where = shares(c) ? "; what came before stands with the first" : "";
	int runs = 0, tasks = count_still_running(c);

	for (int r = 0; r < c->runs; r++)
		runs += c->run[r].still_running > 0;
	if (!runs)
		return NULL;
	if (c->runs > 1)
		snprintf(text, PRINT_NOTE,
			 "tasks went on when the program had ended, in %d of %d runs: what they did "
			 "then is not counted",
			 runs, c->runs);
	else
		snprintf(text, PRINT_NOTE,
			 "%d task%s went on when the program had ended: what %s did then is not "
			 "counted%s",
			 tasks, tasks > 1 ? "s" : "", tasks > 1 ? "they" : "it", where);
	return text;
}

const char *print_leavers(char text[PRINT_NOTE], const struct counts *c)
{
	int n = count_leavers(c);

	if (!n)
		return NULL;
	snprintf(text, PRINT_NOTE,
		 "%d process%s gave up %s user: what %s did from then on is not counted (pcl --users=any counts it)", n,
		 n > 1 ? "es" : "", n > 1 ? "their" : "its", n > 1 ? "they" : "it");
	return text;
}

/* Of which tasks the counts are. */
static const char *scope(const struct counts *c)
{
	char text[PRINT_NOTE];

	if (count_leavers(c))
		return "not all threads and child processes counted";
	return print_still_running(text, c) ? "threads and child processes counted until the program's end"
					    : "all threads and child processes counted";
}

static void print_head(const struct counts *c, FILE *f)
{
	fprintf(f, "\n pcl count:");
	for (char **word = c->argv; *word; word++) {
		fputc(' ', f);
		print_text(*word, f);
	}
	fprintf(f, "\n\n");
}

/* Multiplexed or not counted at all, which both take asking for. */
static void print_scaled(const struct run *run, int event, FILE *f)
{
	const struct reading *r = &run->reading[event];
	const char *never = counting_why_never(run, event);

	if (never)
		fprintf(f, "  never counted: %s", never);
	else if (r->running < r->enabled)
		fprintf(f, "  counted %.1f %% of the time", 100.0 * (double)r->running / (double)r->enabled);
}

static int width_of_names(const struct counts *c)
{
	size_t width = 16;

	for (int e = 0; e < c->specs.nr; e++)
		width = MAX(width, strlen(c->specs.spec[e].name));
	return (int)width;
}

static void print_one_run(const struct counts *c, FILE *f)
{
	int width = width_of_names(c);

	for (int e = 0; e < c->specs.nr; e++) {
		const struct spec *s = &c->specs.spec[e];
		char text[PRINT_COUNT], share[64];

		make_share(c, e, share, sizeof(share));
		fprintf(f, "%20s  %-*s  %-*s", print_count(text, c->summary[e].median, s->is_time), width, s->name,
			*share ? CLASS + 2 : 0, s->class);
		fputs(share, f);
		if (!shares(c) || !c->run[0].reading[e].enabled) /* each CPU's run only while the program is there */
			print_scaled(&c->run[0], e, f);
		fprintf(f, "\n");
	}
	if (c->run[0].elapsed)
		fprintf(f, "\n%17.3f ms  elapsed; %s\n", (double)c->run[0].elapsed / NS_PER_MS, scope(c));
	else
		fprintf(f, "\n%20s  %s; time is virtual (--pin)\n", "", scope(c));
}

static void print_runs(const struct counts *c, FILE *f)
{
	int width = width_of_names(c);

	fprintf(f, "%20s %18s %18s  of %d runs\n", "minimum", "median", "maximum", c->runs);
	for (int e = 0; e < c->specs.nr; e++) {
		const struct spec *s = &c->specs.spec[e];
		const struct summary *sum = &c->summary[e];
		bool same = sum->min == sum->max;
		char text[3][PRINT_COUNT];

		print_count(text[0], sum->min, s->is_time);
		print_count(text[1], sum->median, s->is_time);
		print_count(text[2], sum->max, s->is_time);
		fprintf(f, "%20s %18s %18s  %-*s  %-*s  ", same ? "" : text[0], text[1], same ? "" : text[2], width,
			s->name, CLASS, s->class);
		if (same)
			fprintf(f, "the same in all runs\n");
		else
			fprintf(f, "differs by %.4f %%\n",
				sum->median ? 100.0 * (double)(sum->max - sum->min) / (double)sum->median : 100.0);
	}
	fprintf(f, "\n %s\n", scope(c));
}

static void print_shares(const struct counts *c, FILE *f)
{
	const struct tasks *t = &c->run[0].tasks;

	fprintf(f, "\n%10s", c->per_thread ? "thread" : "process");
	for (int e = 0; e < c->specs.nr; e++)
		fprintf(f, " %18.18s", c->specs.spec[e].name);
	fprintf(f, "  name\n");
	for (int i = 0; i < t->nr; i++) {
		fprintf(f, "%10d", t->task[i].tid);
		for (int e = 0; e < c->specs.nr; e++) {
			char text[PRINT_COUNT];

			fprintf(f, " %18s", print_count(text, t->task[i].count[e], c->specs.spec[e].is_time));
		}
		fputs("  ", f);
		print_text(t->task[i].comm, f);
		fputc('\n', f);
	}
	if (t->lost)
		fprintf(f, "\n %lu records found no room: the counts of their tasks stand with the first\n", t->lost);
}

static void print_end(const struct counts *c, FILE *f)
{
	int status = c->run[c->runs - 1].status;

	if (WIFSIGNALED(status))
		fprintf(f, " ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (status)
		fprintf(f, " ended with status %d", WEXITSTATUS(status));
	if (status && c->runs < c->wanted)
		fprintf(f, "; of %d runs this was the last", c->wanted);
	fprintf(f, status ? "\n\n" : "\n");
}

void print_table(const struct counts *c, FILE *f)
{
	char text[PRINT_NOTE];

	print_head(c, f);
	if (c->runs > 1)
		print_runs(c, f);
	else
		print_one_run(c, f);
	if (shares(c))
		print_shares(c, f);
	if (c->functions)
		print_functions_table(c, f);
	if (print_still_running(text, c))
		fprintf(f, "\n %s\n", text);
	if (print_leavers(text, c))
		fprintf(f, "\n %s\n", text);
	print_end(c, f);
}
