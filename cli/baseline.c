/* See baseline.h. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/baseline.h"
#include "cli/baseline_file.h"
#include "cli/memory.h"
#include "cli/nearest.h"
#include "cli/print.h"
#include "cli/utf8.h"

#define VERSION_KEY "pcl-baseline"
#define VERSION	    1
#define BENCHMARKS  "benchmarks"
#define COUNTS	    "counts"
#define FUNCTIONS   "functions"

struct baseline {
	char *path;
	struct json_object *root, *chosen;
	int lock; /* -1: only read */
};

/* Keys are as the file has them: UTF-8. */
static struct json_object *member(struct json_object *o, const char *key, enum json_type type)
{
	struct json_object *value = NULL;
	char *repaired = utf8_repaired(key);

	if (json_object_is_type(o, json_type_object))
		json_object_object_get_ex(o, repaired, &value);
	free(repaired);
	return json_object_is_type(value, type) ? value : NULL;
}

static void add(struct json_object *o, const char *key, struct json_object *value)
{
	char *repaired = utf8_repaired(key);

	json_object_object_add(o, repaired, value);
	free(repaired);
}

static struct json_object *make_empty(void)
{
	struct json_object *root = json_object_new_object();

	json_object_object_add(root, VERSION_KEY, json_object_new_int(VERSION));
	json_object_object_add(root, BENCHMARKS, json_object_new_object());
	return root;
}

/* Names of events are in messages as they are. */
static bool is_printable(const char *text)
{
	char *printable = utf8_printable(text);
	bool same = *text && !strcmp(printable, text);

	free(printable);
	return same;
}

static bool is_whole(struct json_object *count)
{
	return json_object_is_type(count, json_type_int) && json_object_get_int64(count) >= 0;
}

static const char *find_fault_of_functions(struct json_object *functions)
{
	if (!functions)
		return NULL;
	if (!json_object_is_type(functions, json_type_object))
		return "has functions that are no object";
	json_object_object_foreach(functions, event, all)
	{
		(void)event;
		if (!json_object_is_type(all, json_type_object))
			return "has an event whose functions are no object";
		json_object_object_foreach(all, function, count)
		{
			(void)function;
			if (!is_whole(count))
				return "has a function whose count is not a whole number";
		}
	}
	return NULL;
}

static const char *find_fault_of_counts(struct json_object *counts)
{
	if (!counts)
		return "has no counts";
	if (!json_object_object_length(counts))
		return "has counts of no event";
	json_object_object_foreach(counts, event, count)
	{
		if (!is_printable(event))
			return "has a count of what cannot be an event's name";
		if (!is_whole(count))
			return "has a count that is not a whole number";
	}
	return NULL;
}

/* Each benchmark is an object with counts that are whole numbers. `benchmark` is set to the one with the fault. */
static const char *find_fault(struct json_object *root, const char **benchmark)
{
	struct json_object *version = member(root, VERSION_KEY, json_type_int),
			   *all = member(root, BENCHMARKS, json_type_object);

	if (!json_object_is_type(root, json_type_object))
		return "is JSON, but not an object as a baseline of pcl check is";
	if (!version || !all)
		return "is not a baseline of pcl check";
	if (json_object_get_int(version) != VERSION)
		return "is of a version that this pcl does not know";
	json_object_object_foreach(all, name, one)
	{
		const char *fault = find_fault_of_counts(member(one, COUNTS, json_type_object));
		struct json_object *functions = NULL;

		*benchmark = name;
		if (!fault && json_object_object_get_ex(one, FUNCTIONS, &functions))
			fault = find_fault_of_functions(functions);
		if (fault)
			return fault;
	}
	*benchmark = NULL;
	return NULL;
}

/* One value and nothing behind it. NULL with *fault: it is not. */
static struct json_object *parse(const char *text, const char **fault)
{
	struct json_tokener *t = json_tokener_new();
	struct json_object *root = json_tokener_parse_ex(t, text, (int)strlen(text) + 1);
	const char *rest = text + json_tokener_get_parse_end(t);

	*fault = NULL;
	if (json_tokener_get_error(t) == json_tokener_error_depth)
		*fault = "is nested deeper than any baseline";
	else if (json_tokener_get_error(t) != json_tokener_success)
		*fault = text[strspn(text, " \t\n\r")] ? "is not JSON" : "is empty";
	else if (rest[strspn(rest, " \t\n\r")])
		*fault = "has text behind its JSON value";
	json_tokener_free(t);
	return root;
}

/* A number in the text: how long it is. *fits: it is not a whole one above what a u64 holds. */
static size_t measure_number(const char *at, bool *fits)
{
	size_t digits = strspn(at, "0123456789");

	errno = 0;
	strtoull(at, NULL, 10);
	*fits = errno != ERANGE || (at[digits] && strchr(".eE", at[digits]));
	return strspn(at, "0123456789.eE+-");
}

/* The line with the first number that json-c would take for the greatest one; 0: there is none. */
static unsigned int find_too_great(const char *text)
{
	bool quoted = false, fits;
	unsigned int line = 1;
	char before = 0;

	while (*text) {
		bool negative = before == '-';

		before = *text;
		if (!quoted && *text >= '0' && *text <= '9') {
			text += measure_number(text, &fits);
			if (!fits && !negative)
				return line;
			continue;
		}
		line += *text == '\n';
		if (*text == '"')
			quoted = !quoted;
		text += quoted && *text == '\\' && text[1] ? 2 : 1;
	}
	return 0;
}

static struct json_object *read_file(const char *path, bool may_be_missing)
{
	char *text = baseline_file_read(path, may_be_missing);
	const char *fault, *benchmark = NULL;
	struct json_object *root;
	unsigned int line;

	if (!text)
		return NULL;
	if (!*text && access(path, F_OK)) {
		free(text);
		return make_empty();
	}
	line = find_too_great(text);
	if (line) {
		fprintf(stderr, "pcl check: %s:%u: a number above 18446744073709551615, which no count can be\n", path,
			line);
		free(text);
		return NULL;
	}
	root = parse(text, &fault);
	free(text);
	if (!fault)
		fault = find_fault(root, &benchmark);
	if (!fault)
		return root;
	fprintf(stderr, "pcl check: %s %s", path, benchmark ? "has a benchmark \"" : "");
	print_text(benchmark ? benchmark : "", stderr);
	fprintf(stderr, "%s%s\n", benchmark ? "\" that " : "", fault);
	json_object_put(root);
	return NULL;
}

static struct baseline *read_baseline(const char *path, bool may_be_missing, int lock)
{
	struct baseline *b = memory_zeroed(1, sizeof(*b));

	*b = (struct baseline){.path = memory_text(path), .root = read_file(path, may_be_missing), .lock = lock};
	if (b->root)
		return b;
	baseline_free(b);
	return NULL;
}

struct baseline *baseline_read(const char *path, bool may_be_missing)
{
	return read_baseline(path, may_be_missing, -1);
}

struct baseline *baseline_read_to_write(const char *path)
{
	int lock = baseline_file_lock(path);

	return lock < 0 ? NULL : read_baseline(path, true, lock);
}

static struct json_object *benchmarks(const struct baseline *b)
{
	return member(b->root, BENCHMARKS, json_type_object);
}

bool baseline_choose(struct baseline *b, const char *name)
{
	b->chosen = member(benchmarks(b), name, json_type_object);
	return b->chosen;
}

bool baseline_count(const struct baseline *b, const char *event, u64 *out)
{
	struct json_object *count = member(member(b->chosen, COUNTS, json_type_object), event, json_type_int);

	if (count)
		*out = json_object_get_uint64(count);
	return count;
}

char *baseline_events(const struct baseline *b)
{
	struct json_object *counts = member(b->chosen, COUNTS, json_type_object);
	char *list = NULL;
	size_t size;
	FILE *f = open_memstream(&list, &size);
	const char *sep = "";

	if (!f)
		return NULL;
	json_object_object_foreach(counts, event, count)
	{
		(void)count;
		fprintf(f, "%s%s", sep, event);
		sep = ",";
	}
	return fclose(f) ? NULL : list;
}

const char *baseline_cpu(const struct baseline *b)
{
	return json_object_get_string(member(b->chosen, "cpu", json_type_string));
}

const char *baseline_nearest(const struct baseline *b, const char *name)
{
	struct nearest nearest = {.word = name};

	json_object_object_foreach(benchmarks(b), known, benchmark)
	{
		(void)benchmark;
		nearest_try(&nearest, known);
	}
	return nearest.best;
}

void baseline_begin(struct baseline *b, const char *name, char **argv, const char *cpu)
{
	struct json_object *command = json_object_new_array();

	if (!baseline_choose(b, name)) {
		b->chosen = json_object_new_object();
		add(benchmarks(b), name, b->chosen);
	}
	for (; *argv; argv++)
		json_object_array_add(command, json_object_new_string(*argv));
	json_object_object_add(b->chosen, "command", command);
	json_object_object_add(b->chosen, "cpu", json_object_new_string(cpu));
	json_object_object_add(b->chosen, "pcl", json_object_new_string(PCL_VERSION));
	json_object_object_add(b->chosen, COUNTS, json_object_new_object());
	json_object_object_del(b->chosen, FUNCTIONS);
}

void baseline_put(struct baseline *b, const char *event, u64 count)
{
	add(member(b->chosen, COUNTS, json_type_object), event, json_object_new_uint64(count));
}

bool baseline_functions(const struct baseline *b, const char *event,
			void (*see)(void *arg, const char *function, u64 count), void *arg)
{
	struct json_object *all = member(member(b->chosen, FUNCTIONS, json_type_object), event, json_type_object);

	if (!all)
		return false;
	json_object_object_foreach(all, function, count) if (json_object_is_type(count, json_type_int))
		see(arg, function, json_object_get_uint64(count));
	return true;
}

void baseline_put_function(struct baseline *b, const char *event, const char *function, u64 count)
{
	struct json_object *all = member(b->chosen, FUNCTIONS, json_type_object),
			   *of = member(all, event, json_type_object);

	if (!all) {
		all = json_object_new_object();
		json_object_object_add(b->chosen, FUNCTIONS, all);
	}
	if (!of) {
		of = json_object_new_object();
		add(all, event, of);
	}
	add(of, function, json_object_new_uint64(count));
}

int baseline_write(const struct baseline *b)
{
	char *text = utf8_json(b->root);
	int err = baseline_file_write(b->path, text);

	free(text);
	return err;
}

void baseline_free(struct baseline *b)
{
	if (!b)
		return;
	if (b->lock >= 0)
		close(b->lock);
	json_object_put(b->root);
	free(b->path);
	free(b);
}
