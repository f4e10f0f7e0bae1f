/* See check_functions.h. */
#include <stdlib.h>
#include <string.h>
#include "cli/check_functions.h"
#include "cli/memory.h"
#include "cli/print.h"
#include "cli/print_functions.h"
#include "cli/utf8.h"

#define SHOWN	    10	  /* functions */
#define LEAST	    0.001 /* of the whole: smaller changes are not shown */
#define LEAST_SAVED 0.0001

static char *make_key(const struct function *f)
{
	const char *slash = strrchr(f->file, '/'), *file = slash ? slash + 1 : f->file;
	size_t size = strlen(f->name) + strlen(file) + sizeof(" ()");
	char *key = memory_zeroed(1, size), *repaired;

	snprintf(key, size, "%s (%s)", f->name, file);
	repaired = utf8_repaired(key);
	free(key);
	return repaired;
}

/* The key is theirs then. */
static void add(struct check_functions *c, char *key, u64 before, u64 now)
{
	if (!(c->nr & (c->nr - 1)))
		c->changed = memory_resize(c->changed, c->nr ? (size_t)c->nr * 2 : 1, sizeof(*c->changed));
	c->changed[c->nr++] = (struct changed_function){key, before, now};
}

static void take_counts(struct check_functions *c, const struct counts *counts)
{
	const struct by_function *b = counts->functions;

	for (u32 i = 0; i < b->nr; i++)
		add(c, make_key(b->row[i].function), 0, b->row[i].count[0]);
}

static void take_before(void *arg, const char *key, u64 count)
{
	add(arg, memory_text(key), count, 0);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct changed_function *)a)->key, ((const struct changed_function *)b)->key);
}

/* The same functions of another build's file, and overloads: one name. */
static void join(struct check_functions *c)
{
	int n = 0;

	if (c->nr)
		qsort(c->changed, (size_t)c->nr, sizeof(*c->changed), by_key);
	for (int i = 0; i < c->nr; i++) {
		struct changed_function *f = &c->changed[i], *last = n ? &c->changed[n - 1] : NULL;

		if (!last || strcmp(last->key, f->key)) {
			c->changed[n++] = *f;
			continue;
		}
		last->before += f->before;
		last->now += f->now;
		free(f->key);
	}
	c->nr = n;
}

static u64 change_of(const struct changed_function *f)
{
	return f->now > f->before ? f->now - f->before : f->before - f->now;
}

static int by_change(const void *a, const void *b)
{
	u64 x = change_of(a), y = change_of(b);

	return x != y ? (x < y) - (x > y) : by_key(a, b);
}

void check_functions_compare(struct check_functions *c, const struct baseline *b, const struct counts *counts)
{
	u64 least = (u64)((double)counts->run[0].reading[0].count * LEAST);

	*c = (struct check_functions){.event = counts->specs.spec[0].name, .is_time = counts->specs.spec[0].is_time};
	c->lost = counts->functions->samples.lost;
	print_lost(c->note, counts);
	c->known = baseline_functions(b, counts->specs.spec[0].text, take_before, c);
	if (!c->known)
		return;
	take_counts(c, counts);
	join(c);
	if (c->nr)
		qsort(c->changed, (size_t)c->nr, sizeof(*c->changed), by_change);
	while (c->nr && (c->nr > SHOWN || change_of(&c->changed[c->nr - 1]) <= least))
		free(c->changed[--c->nr].key);
}

void check_functions_update(struct baseline *b, const struct counts *counts)
{
	u64 least = (u64)((double)counts->run[0].reading[0].count * LEAST_SAVED);
	struct check_functions all = {0};

	take_counts(&all, counts);
	join(&all);
	for (int i = 0; i < all.nr; i++)
		if (all.changed[i].now > least)
			baseline_put_function(b, counts->specs.spec[0].text, all.changed[i].key, all.changed[i].now);
	check_functions_free(&all);
}

/* Of a library whose hash functions take their seed from an address, so that each build has other collisions. */
static bool is_seeded(const char *key)
{
	static const char *const parts[] = {"foldhash::", "hashbrown::", "::hash_internal::", "::container_internal::"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(key, parts[i]))
			return true;
	return false;
}

static bool some_seeded(const struct check_functions *c)
{
	for (int i = 0; i < c->nr; i++)
		if (is_seeded(c->changed[i].key))
			return true;
	return false;
}

void check_functions_print(const struct check_functions *c, FILE *f)
{
	if (!c->known) {
		fprintf(f, "\n the baseline has no functions: --update --by-function writes them\n");
		return;
	}
	if (!c->nr)
		fprintf(f, "\n no function's %s changed by more than %g %% of all\n", c->event, 100 * LEAST);
	for (int i = 0; i < c->nr; i++) {
		const struct changed_function *g = &c->changed[i];
		char before[PRINT_COUNT], now[PRINT_COUNT], change[PRINT_COUNT], text[PRINT_COUNT + 1];

		print_count(before, g->before, c->is_time);
		print_count(now, g->now, c->is_time);
		snprintf(text, sizeof(text), "%c%s", g->now < g->before ? '-' : '+',
			 print_count(change, change_of(g), c->is_time));
		fprintf(f, "%s%18s %18s %12s  ", i ? "" : "\n", before, now, text);
		print_text(g->key, f);
		fputc('\n', f);
	}
	if (some_seeded(c))
		fprintf(f,
			"\n hash tables with seeds from addresses (foldhash, Abseil) are among these: in another\n"
			" build they change without an edit; a fixed seed or --tolerance helps\n");
}

struct json_object *check_functions_json(const struct check_functions *c)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < c->nr; i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "function", json_object_new_string(c->changed[i].key));
		json_object_object_add(o, "baseline", json_object_new_uint64(c->changed[i].before));
		json_object_object_add(o, "count", json_object_new_uint64(c->changed[i].now));
		json_object_array_add(list, o);
	}
	return list;
}

void check_functions_free(struct check_functions *c)
{
	for (int i = 0; i < c->nr; i++)
		free(c->changed[i].key);
	free(c->changed);
	*c = (struct check_functions){0};
}
