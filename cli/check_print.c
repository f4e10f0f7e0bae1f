/* See check.h: what pcl check says, to people, programs and GitHub. */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include "cli/check.h"
#include "cli/check_functions.h"
#include "cli/print.h"

#define BY_FUNCTION " in which functions: pcl check --by-function, with a baseline that was written so too\n"

static const struct {
	const char *word, *text;
} verdicts[] = {
	[VERDICT_SAME] = {"same", "the same"},
	[VERDICT_WITHIN] = {"within", "within the tolerance"},
	[VERDICT_BETTER] = {"better", "fewer"},
	[VERDICT_REGRESSION] = {"regression", "REGRESSION"},
	[VERDICT_NEW] = {"new", "not in the baseline"},
	[VERDICT_NOT_JUDGED] = {"not judged", "not judged: measured or estimated"},
};

static const char *text_of(const struct check *c, const struct comparison *e)
{
	return e->verdict == VERDICT_NEW && c->updated ? "new" : verdicts[e->verdict].text;
}

static const char *conclude(const struct check *c)
{
	if (check_nothing(c))
		return "nothing compared";
	return c->updated ? "updated" : c->regressions ? "regression" : c->better ? "better" : "same";
}

static void print_before(const struct comparison *e, char *before, char *change, size_t size)
{
	if (e->verdict == VERDICT_NEW)
		*before = *change = 0;
	else if (e->before == e->now)
		snprintf(change, size, "0");
	else if (!e->before)
		snprintf(change, size, "from 0");
	else
		snprintf(change, size, "%+.*f %%", check_change(e) > -0.01 && check_change(e) < 0.01 ? 5 : 2,
			 check_change(e));
	if (e->verdict != VERDICT_NEW)
		print_count(before, e->before, e->is_time);
}

void check_print_table(const struct check *c, FILE *f)
{
	fprintf(f, "\n pcl check: %s\n\n%18s %18s %12s\n", c->label, "baseline", "now", "change");
	for (int i = 0; i < c->nr; i++) {
		const struct comparison *e = &c->event[i];
		char before[PRINT_COUNT], now[PRINT_COUNT], change[32];

		print_before(e, before, change, sizeof(change));
		fprintf(f, "%18s %18s %12s  %-20s %s\n", before, print_count(now, e->now, e->is_time), change, e->event,
			text_of(c, e));
	}
	if (c->functions && !c->updated)
		check_functions_print(c->functions, f);
	if (c->functions && *c->functions->note)
		fprintf(f, "\n %s\n", c->functions->note);
	if (c->other_cpu) {
		fprintf(f, "\n the baseline was made on another processor (");
		print_text(c->other_cpu, f);
		fprintf(f, "): libraries may choose other code there\n");
	}
	for (size_t i = 0; i < ARRAY_SIZE(c->notes); i++)
		if (c->notes[i])
			fprintf(f, "\n %s\n", c->notes[i]);
	if (c->updated)
		fprintf(f, "\n %s has these counts now\n\n", c->file);
	else if (c->regressions)
		fprintf(f, "\n regression: %d of %d counts above %s by more than %g %%\n%s\n", c->regressions, c->nr,
			c->file, c->tolerance, c->functions ? "" : BY_FUNCTION);
	else if (check_nothing(c))
		fprintf(f, "\n nothing was compared: %s\n\n", check_nothing(c));
	else if (c->better)
		fprintf(f, "\n fewer by more than %g %% than %s says; --update writes the new counts there\n\n",
			c->tolerance, c->file);
	else
		fprintf(f, "\n no regression (tolerance %g %%)\n\n", c->tolerance);
}

/* Not with the 17 digits that a double may need: 0.1 is 0.1. */
static struct json_object *new_percent(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.12g", value);
	return json_object_new_double_s(value, text);
}

void check_print_json(const struct check *c, FILE *f)
{
	struct json_object *o = json_object_new_object(), *events = json_object_new_array();

	json_object_object_add(o, "name", json_object_new_string(c->name));
	json_object_object_add(o, "baseline", json_object_new_string(c->file));
	json_object_object_add(o, "tolerance_percent", new_percent(c->tolerance));
	json_object_object_add(o, "result", json_object_new_string(conclude(c)));
	if (c->other_cpu)
		json_object_object_add(o, "baseline_cpu", json_object_new_string(c->other_cpu));
	json_object_object_add(o, "still_running", json_object_new_int(c->still_running));
	json_object_object_add(o, "gave_up_user", json_object_new_int(c->leavers));
	for (int i = 0; i < c->nr; i++) {
		const struct comparison *e = &c->event[i];
		struct json_object *row = json_object_new_object();

		json_object_object_add(row, "event", json_object_new_string(e->event));
		json_object_object_add(row, "class", json_object_new_string(e->class));
		json_object_object_add(row, "count", json_object_new_uint64(e->now));
		if (e->verdict != VERDICT_NEW) {
			json_object_object_add(row, "baseline", json_object_new_uint64(e->before));
			json_object_object_add(row, "change_percent",
					       e->before || !e->now ? new_percent(check_change(e)) : NULL);
		}
		json_object_object_add(row, "verdict", json_object_new_string(verdicts[e->verdict].word));
		json_object_array_add(events, row);
	}
	json_object_object_add(o, "events", events);
	if (c->functions && c->functions->known)
		json_object_object_add(o, "functions", check_functions_json(c->functions));
	if (c->functions)
		json_object_object_add(o, "lost_records", json_object_new_uint64(c->functions->lost));
	print_json_value(o, f);
}

/* A workflow command's text; in a property, commas and colons are written otherwise too. */
static void print_escaped(const char *text, bool property, FILE *f)
{
	for (; *text; text++)
		if (*text == '%' || *text == '\n' || *text == '\r' || (property && (*text == ':' || *text == ',')))
			fprintf(f, "%%%02X", (unsigned)*text);
		else
			fputc(*text, f);
}

static void annotate(const struct check *c, const char *kind, const char *text, FILE *f)
{
	fprintf(f, "::%s title=", kind);
	print_escaped("pcl check ", true, f);
	print_escaped(c->name, true, f);
	fprintf(f, "::");
	print_escaped(text, false, f);
	fputc('\n', f);
}

void check_print_github(const struct check *c, FILE *f)
{
	for (int i = 0; i < c->nr; i++) {
		const struct comparison *e = &c->event[i];
		char before[PRINT_COUNT], now[PRINT_COUNT], change[32], text[256];

		if ((e->verdict != VERDICT_REGRESSION && e->verdict != VERDICT_BETTER) || c->updated)
			continue;
		print_before(e, before, change, sizeof(change));
		snprintf(text, sizeof(text), "%s: %s -> %s (%s, tolerance %g %%)", e->event, before,
			 print_count(now, e->now, e->is_time), change, c->tolerance);
		annotate(c, e->verdict == VERDICT_REGRESSION ? "error" : "notice", text, f);
	}
	if (check_nothing(c))
		annotate(c, "error", "nothing was compared", f);
	for (size_t i = 0; i < ARRAY_SIZE(c->notes); i++)
		if (c->notes[i])
			annotate(c, "warning", c->notes[i], f);
	if (c->functions && *c->functions->note)
		annotate(c, "warning", c->functions->note, f);
	if (c->other_cpu) {
		char text[160];

		snprintf(text, sizeof(text), "the baseline was made on another processor (%s)", c->other_cpu);
		annotate(c, "warning", text, f);
	}
}

/* In a table's cell of Markdown, where a line's end would be one, and GitHub has formulas between dollars. */
static void print_cell(const char *text, FILE *f)
{
	for (; *text; text++)
		fprintf(f, strchr("|\\`*_<>[]&~$", *text) ? "\\%c" : "%c", strchr("\n\r", *text) ? ' ' : *text);
}

int check_append_summary(const struct check *c, const char *path)
{
	FILE *f = fopen(path, "ae");
	bool failed;

	if (!f)
		return -1;
	fprintf(f, "### pcl check: ");
	print_cell(c->name, f);
	fprintf(f, "\n\n%s\n\n| event | baseline | now | change | |\n|---|---:|---:|---:|---|\n",
		c->updated	   ? "Baseline updated."
		: c->regressions   ? "**Regression.**"
		: check_nothing(c) ? "**Nothing was compared.**"
				   : "No regression.");
	for (int i = 0; i < c->nr; i++) {
		const struct comparison *e = &c->event[i];
		char before[PRINT_COUNT], now[PRINT_COUNT], change[32];

		print_before(e, before, change, sizeof(change));
		fprintf(f, "| ");
		print_cell(e->event, f);
		fprintf(f, " | %s | %s | %s | %s |\n", before, print_count(now, e->now, e->is_time), change,
			text_of(c, e));
	}
	for (int i = 0; c->functions && i < c->functions->nr; i++) {
		const struct changed_function *g = &c->functions->changed[i];
		char before[PRINT_COUNT], now[PRINT_COUNT];

		fprintf(f, "%s| ", i ? "" : "\n| function | baseline | now |\n|---|---:|---:|\n");
		print_cell(g->key, f);
		fprintf(f, " | %s | %s |\n", print_count(before, g->before, c->functions->is_time),
			print_count(now, g->now, c->functions->is_time));
	}
	fputc('\n', f);
	failed = ferror(f);
	return fclose(f) || failed ? -1 : 0;
}
