/* See baseline.h. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/baseline.h"
#include "cli/nearest.h"

#define VERSION_KEY "pcl-baseline"
#define VERSION	    1
#define BENCHMARKS  "benchmarks"
#define COUNTS	    "counts"
#define FUNCTIONS   "functions"

struct baseline {
	char *path;
	struct json_object *root, *chosen;
};

static struct json_object *member(struct json_object *o, const char *key, enum json_type type)
{
	struct json_object *value;

	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &value) &&
			       json_object_is_type(value, type)
		       ? value
		       : NULL;
}

static struct json_object *make_empty(void)
{
	struct json_object *root = json_object_new_object();

	json_object_object_add(root, VERSION_KEY, json_object_new_int(VERSION));
	json_object_object_add(root, BENCHMARKS, json_object_new_object());
	return root;
}

/* Each benchmark is an object with counts that are whole numbers. */
static const char *find_fault(struct json_object *root)
{
	struct json_object *version = member(root, VERSION_KEY, json_type_int),
			   *all = member(root, BENCHMARKS, json_type_object);

	if (!version || !all)
		return "is not a baseline of pcl check";
	if (json_object_get_int(version) != VERSION)
		return "is of a version that this pcl does not know";
	json_object_object_foreach(all, name, benchmark)
	{
		struct json_object *counts = member(benchmark, COUNTS, json_type_object);

		(void)name;
		if (!counts)
			return "has a benchmark without counts";
		json_object_object_foreach(counts, event, count)
		{
			(void)event;
			if (!json_object_is_type(count, json_type_int) || json_object_get_int64(count) < 0)
				return "has a count that is not a whole number";
		}
	}
	return NULL;
}

static struct json_object *read_file(const char *path, bool may_be_missing)
{
	struct json_object *root;
	const char *fault;

	if (access(path, F_OK) && errno == ENOENT && may_be_missing)
		return make_empty();
	if (access(path, R_OK)) {
		fprintf(stderr, "pcl check: %s: %s%s\n", path, strerror(errno),
			errno == ENOENT ? " (--update makes it)" : "");
		return NULL;
	}
	root = json_object_from_file(path);
	fault = root ? find_fault(root) : json_util_get_last_err();
	if (!fault)
		return root;
	fprintf(stderr, "pcl check: %s %s\n", path, root ? fault : "is not JSON");
	json_object_put(root);
	return NULL;
}

struct baseline *baseline_read(const char *path, bool may_be_missing)
{
	struct baseline *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->path = strdup(path);
	b->root = b->path ? read_file(path, may_be_missing) : NULL;
	if (b->root)
		return b;
	baseline_free(b);
	return NULL;
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
		json_object_object_add(benchmarks(b), name, b->chosen);
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
	json_object_object_add(member(b->chosen, COUNTS, json_type_object), event, json_object_new_uint64(count));
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
		json_object_object_add(all, event, of);
	}
	json_object_object_add(of, function, json_object_new_uint64(count));
}

static int complain(const char *path)
{
	fprintf(stderr, "pcl check: cannot write %s: %s\n", path, strerror(errno));
	return -1;
}

/* A new file of the old one's mode takes its place. */
int baseline_write(const struct baseline *b)
{
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE;
	size_t size = strlen(b->path) + sizeof(".XXXXXX");
	char *temporary = malloc(size);
	mode_t mask = umask(0);
	struct stat st;
	int fd, err;

	umask(mask);
	if (!temporary)
		return complain(b->path);
	snprintf(temporary, size, "%s.XXXXXX", b->path);
	fd = mkstemp(temporary);
	if (fd < 0) {
		free(temporary);
		return complain(b->path);
	}
	err = fchmod(fd, stat(b->path, &st) ? 0666 & ~mask : st.st_mode & 0777) ||
	      dprintf(fd, "%s\n", json_object_to_json_string_ext(b->root, flags)) < 0 || fsync(fd);
	err |= close(fd);
	if (err || rename(temporary, b->path)) {
		err = complain(b->path);
		unlink(temporary);
	}
	free(temporary);
	return err;
}

void baseline_free(struct baseline *b)
{
	if (!b)
		return;
	json_object_put(b->root);
	free(b->path);
	free(b);
}
