/* See print_functions.h. */
#include <stdlib.h>
#include <string.h>
#include "cli/memory.h"
#include "cli/print.h"
#include "cli/print_functions.h"

#define SMALLEST 0.005 /* share of a function that gets a line of the table */

static double share_of(const struct counts *c, int e, u64 count)
{
	u64 total = c->run[0].reading[e].count;

	return total ? (double)count / (double)total : 0;
}

static bool is_small(const struct counts *c, const u64 *count)
{
	for (int e = 0; e < c->specs.nr; e++)
		if (share_of(c, e, count[e]) >= SMALLEST)
			return false;
	return true;
}

static void print_row(const struct counts *c, const u64 *count, const char *name, const char *file, FILE *f)
{
	for (int e = 0; e < c->specs.nr; e++) {
		char text[PRINT_COUNT];

		fprintf(f, "%18s %5.1f %%", print_count(text, count[e], c->specs.spec[e].is_time),
			100 * share_of(c, e, count[e]));
	}
	fputs("  ", f);
	print_text(name, f);
	fputs(*file ? "  " : "", f);
	print_text(file, f);
	fputc('\n', f);
}

/* Of a period of 1 each one has a sample, unless it was lost. The number of lost records comes with the next one that
 * finds room, so it may be too small. */
static u64 without_sample(const struct counts *c, int e)
{
	return c->functions->period[e] == 1 ? c->functions->rest[e] : 0;
}

const char *print_lost(char text[PRINT_NOTE], const struct counts *c)
{
	u64 lost = c->functions ? c->functions->samples.lost : 0, without = 0;

	for (int e = 0; c->functions && e < c->specs.nr; e++)
		without += without_sample(c, e);
	if (without)
		snprintf(text, PRINT_NOTE,
			 "records of samples found no room: %lu counts are not in any function (a "
			 "greater --period helps)",
			 without);
	else if (lost)
		snprintf(text, PRINT_NOTE,
			 "%lu records found no room: what they stood for is not in any function (a "
			 "greater --period helps)",
			 lost);
	return lost || without ? text : NULL;
}

/* In words, what is not exact and by how much. */
static void print_errors(const struct counts *c, FILE *f)
{
	const struct by_function *b = c->functions;
	char note[PRINT_NOTE];

	for (int e = 0; e < c->specs.nr; e++) {
		const char *name = c->specs.spec[e].name;
		char text[PRINT_COUNT];
		u64 taken = b->samples.taken[e];

		if (b->period[e] == 1) {
			fprintf(f, " %s: each one%s is in the function that it is shown with\n", name,
				without_sample(c, e) ? " that has a sample" : "");
			continue;
		}
		print_count(text, b->period[e], c->specs.spec[e].is_time);
		fprintf(f, " %s: the sum is %s; shares are of %lu samples, one each %s", name, c->specs.spec[e].class,
			taken, text);
		if (taken)
			fprintf(f, ": 50 %% is right to %.1f %%, 1 %% to %.2f %%", 100 * by_function_error(b, e, 1, 2),
				100 * by_function_error(b, e, 1, 100));
		fprintf(f, "\n");
	}
	if (print_lost(note, c))
		fprintf(f, " %s\n", note);
}

/* Whether a line of the table is code of a file that has no symbol for it. */
static bool lacks_symbols(const struct counts *c)
{
	const struct by_function *b = c->functions;

	for (u32 i = 0; i < b->nr; i++) {
		const struct function *function = b->row[i].function;

		if (*function->file == '/' && !strcmp(function->name, FUNCTION_UNKNOWN) &&
		    !is_small(c, b->row[i].count))
			return true;
	}
	return false;
}

void print_functions_table(const struct counts *c, FILE *f)
{
	const struct by_function *b = c->functions;
	u64 *others = memory_zeroed((size_t)c->specs.nr, sizeof(*others));
	u32 small = 0;
	char text[64];

	fprintf(f, "\n");
	for (int e = 0; e < c->specs.nr; e++)
		fprintf(f, "%18.18s  share ", c->specs.spec[e].name);
	fprintf(f, "  function\n");
	for (u32 i = 0; i < b->nr; i++) {
		const struct function_row *r = &b->row[i];
		const char *slash = strrchr(r->function->file, '/');

		if (!is_small(c, r->count)) {
			print_row(c, r->count, r->function->name, slash ? slash + 1 : r->function->file, f);
			continue;
		}
		small++;
		for (int e = 0; e < c->specs.nr; e++)
			others[e] += r->count[e];
	}
	snprintf(text, sizeof(text), "(%u others, each less than %.1f %%)", small, 100 * SMALLEST);
	if (small)
		print_row(c, others, text, "", f);
	print_row(c, b->rest, "(in no sample)", "", f);
	fprintf(f, "\n");
	print_errors(c, f);
	if (lacks_symbols(c))
		fprintf(f, " " FUNCTION_UNKNOWN ": the file has no symbols there; its debug file would have "
			   "(on Debian: packages NAME-dbgsym, libc6-dbg)\n");
	free(others);
}

void print_functions_csv(const struct counts *c, FILE *f)
{
	const struct by_function *b = c->functions;

	fprintf(f, "\nfunction,file");
	for (int e = 0; e < c->specs.nr; e++) {
		fputc(',', f);
		print_field(c->specs.spec[e].name, f);
	}
	fputc('\n', f);
	for (u32 i = 0; i <= b->nr; i++) {
		const u64 *count = i < b->nr ? b->row[i].count : b->rest;

		print_field(i < b->nr ? b->row[i].function->name : "(in no sample)", f);
		fputc(',', f);
		print_field(i < b->nr ? b->row[i].function->file : "", f);
		for (int e = 0; e < c->specs.nr; e++)
			fprintf(f, ",%lu", count[e]);
		fputc('\n', f);
	}
}

static void put(struct json_object *o, const char *key, struct json_object *value)
{
	json_object_object_add(o, key, value);
}

static struct json_object *numbers(const u64 *v, int nr)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < nr; i++)
		json_object_array_add(list, json_object_new_uint64(v[i]));
	return list;
}

void print_functions_json(const struct counts *c, struct json_object *to)
{
	const struct by_function *b = c->functions;
	struct json_object *list = json_object_new_array();

	for (u32 i = 0; i < b->nr; i++) {
		struct json_object *o = json_object_new_object(), *errors = json_object_new_array();
		const struct function_row *r = &b->row[i];

		put(o, "function", json_object_new_string(r->function->name));
		put(o, "file", json_object_new_string(r->function->file));
		put(o, "counts", numbers(r->count, b->events));
		for (int e = 0; e < b->events; e++) {
			u64 total = c->run[0].reading[e].count;
			double error = by_function_error(b, e, r->count[e], total) * (double)total;

			json_object_array_add(errors, json_object_new_uint64((u64)(error + 0.5)));
		}
		put(o, "errors", errors);
		json_object_array_add(list, o);
	}
	put(to, "functions", list);
	put(to, "periods", numbers(b->period, b->events));
	put(to, "samples", numbers(b->samples.taken, b->events));
	put(to, "in_no_sample", numbers(b->rest, b->events));
	put(to, "lost_records", json_object_new_uint64(b->samples.lost));
}
