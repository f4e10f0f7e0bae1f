/* See print.h: CSV and JSON. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "cli/print.h"
#include "cli/print_functions.h"
#include "cli/utf8.h"

void print_json_value(struct json_object *o, FILE *f)
{
	char *text = utf8_json(o);

	fputs(text, f);
	free(text);
	json_object_put(o);
}

void print_field(const char *text, FILE *f)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++)
		fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
	fputc('"', f);
}

static void print_csv_shares(const struct counts *c, FILE *f)
{
	const struct tasks *t = &c->run[0].tasks;

	fprintf(f, "\npid,tid,name");
	for (int e = 0; e < c->specs.nr; e++) {
		fputc(',', f);
		print_field(c->specs.spec[e].name, f);
	}
	fputc('\n', f);
	for (int i = 0; i < t->nr; i++) {
		fprintf(f, "%d,%d,", t->task[i].pid, t->task[i].tid);
		print_field(t->task[i].comm, f);
		for (int e = 0; e < c->specs.nr; e++)
			fprintf(f, ",%lu", t->task[i].count[e]);
		fputc('\n', f);
	}
}

void print_csv(const struct counts *c, FILE *f)
{
	char note[PRINT_NOTE];

	fprintf(f, "event,class,unit,runs,count,minimum,maximum,same\n");
	for (int e = 0; e < c->specs.nr; e++) {
		const struct spec *s = &c->specs.spec[e];
		const struct summary *sum = &c->summary[e];

		print_field(s->name, f);
		fprintf(f, ",%s,%s,%d,%lu,%lu,%lu,%s\n", s->class, s->is_time ? "ns" : "", c->runs, sum->median,
			sum->min, sum->max, sum->min == sum->max ? "yes" : "no");
	}
	if (c->per_process || c->per_thread)
		print_csv_shares(c, f);
	if (c->functions)
		print_functions_csv(c, f);
	if (print_still_running(note, c))
		fprintf(stderr, "pcl count: %s\n", note);
	if (print_leavers(note, c))
		fprintf(stderr, "pcl count: %s\n", note);
	if (print_lost(note, c))
		fprintf(stderr, "pcl count: %s\n", note);
}

static void put(struct json_object *o, const char *key, struct json_object *value)
{
	json_object_object_add(o, key, value);
}

static struct json_object *number(u64 v)
{
	return json_object_new_uint64(v);
}

static struct json_object *make_event(const struct counts *c, int e)
{
	const struct spec *s = &c->specs.spec[e];
	const struct summary *sum = &c->summary[e];
	struct json_object *o = json_object_new_object(), *values = json_object_new_array();

	put(o, "event", json_object_new_string(s->name));
	put(o, "class", json_object_new_string(s->class));
	if (s->is_time)
		put(o, "unit", json_object_new_string("ns"));
	put(o, "count", number(sum->median));
	put(o, "minimum", number(sum->min));
	put(o, "maximum", number(sum->max));
	put(o, "same", json_object_new_boolean(sum->min == sum->max));
	for (int r = 0; r < c->runs; r++)
		json_object_array_add(values, number(c->run[r].reading[e].count));
	put(o, "values", values);
	if (c->per_process || c->per_thread)
		return o; /* each CPU's events run only while the program is there: no times of the whole */
	put(o, "enabled_ns", number(c->run[0].reading[e].enabled));
	put(o, "running_ns", number(c->run[0].reading[e].running));
	return o;
}

static struct json_object *make_share(const struct counts *c, const struct task_share *t)
{
	struct json_object *o = json_object_new_object(), *values = json_object_new_array();

	put(o, "pid", json_object_new_int(t->pid));
	put(o, "tid", json_object_new_int(t->tid));
	put(o, "name", json_object_new_string(t->comm));
	for (int e = 0; e < c->specs.nr; e++)
		json_object_array_add(values, number(t->count[e]));
	put(o, "counts", values);
	return o;
}

void print_json(const struct counts *c, FILE *f)
{
	struct json_object *o = json_object_new_object(), *command = json_object_new_array();
	struct json_object *events = json_object_new_array(), *elapsed = json_object_new_array();
	int status = c->run[c->runs - 1].status;

	put(o, "pcl", json_object_new_string(PCL_VERSION));
	for (char **word = c->argv; *word; word++)
		json_object_array_add(command, json_object_new_string(*word));
	put(o, "command", command);
	put(o, "runs", json_object_new_int(c->runs));
	put(o, "status", json_object_new_int(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)));
	for (int r = 0; r < c->runs; r++)
		json_object_array_add(elapsed, c->run[r].elapsed ? number(c->run[r].elapsed) : NULL);
	put(o, "elapsed_ns", elapsed);
	put(o, "still_running", json_object_new_int(count_still_running(c)));
	put(o, "gave_up_user", json_object_new_int(count_leavers(c)));
	for (int e = 0; e < c->specs.nr; e++)
		json_object_array_add(events, make_event(c, e));
	put(o, "events", events);
	if (c->per_process || c->per_thread) {
		const struct tasks *t = &c->run[0].tasks;
		struct json_object *shares = json_object_new_array();

		for (int i = 0; i < t->nr; i++)
			json_object_array_add(shares, make_share(c, &t->task[i]));
		put(o, c->per_thread ? "threads" : "processes", shares);
		put(o, "lost_records", number(t->lost));
	}
	if (c->functions)
		print_functions_json(c, o);
	print_json_value(o, f);
}
