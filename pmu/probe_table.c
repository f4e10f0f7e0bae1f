/* See probe_def.h: the session's table of named probes. */
#include <asm-generic/errno.h>
#include "event/space.h"
#include "pmu/probe_def.h"
#include "pmu/tracefs.h"
#include "rt/fmt.h"
#include "rt/refuse.h"
#include "rt/string.h"

u32 probe_rows(void)
{
	return MIN(event_space->probes.high, PROBE_ROWS);
}

bool probe_is_named(u32 row, struct probe_def *out)
{
	return row < probe_rows() && probe_row(row)->state == PROBE_NAMED && probe_def_read(probe_text(row), out);
}

/* Arguments of the same names and types. */
static bool same_types(const struct probe_def *a, const struct probe_def *b)
{
	struct probe_args at = {.at = a->args}, bt = {.at = b->args};
	struct probe_arg x, y;

	for (;;) {
		bool more = probe_def_next(a, &at, &x);

		if (more != probe_def_next(b, &bt, &y))
			return false;
		if (!more)
			return true;
		if (x.name_len != y.name_len || memcmp(x.name, y.name, x.name_len) || x.base != y.base ||
		    x.size != y.size || x.count != y.count)
			return false;
	}
}

/* The row of the event that it joins, or -1: it is a new one; or why not. */
static int find_event(const struct probe_def *def, const struct probe_place *place)
{
	struct probe_def d;
	int event = -1;

	for (u32 row = 0; row < probe_rows(); row++) {
		const struct probe_place *p = &probe_row(row)->place;
		bool here = p->dev == place->dev && p->ino == place->ino && p->offset == place->offset;

		if (!probe_is_named(row, &d))
			continue;
		if (here && p->ref_ctr != place->ref_ctr)
			return refuse(EINVAL, "this place has a probe with another ref_ctr_offset");
		if (!probe_part_same(&d.group, &def->group) || !probe_part_same(&d.event, &def->event))
			continue;
		if (d.is_return != def->is_return)
			return refuse(EEXIST, "the event exists, and is of the other kind");
		if (!same_types(&d, def))
			return refuse(EEXIST, "the event exists, with other arguments");
		if (here && !strcmp(d.args, def->args))
			return refuse(EEXIST, "the event has this probe");
		event = (int)probe_row(row)->event;
	}
	return event < 0 ? -ENOENT : event;
}

/* One of pcl's own events, or a folder of them. */
static bool is_taken(const struct probe_def *def)
{
	char path[64 + 2 * PROBE_NAME];
	struct probe_part group = def->group;

	rt_snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%.*s", (int)group.len, group.at);
	return tracefs_is_fixed(path);
}

static int define_locked(const char *text, const struct probe_def *def, const struct probe_place *place)
{
	int event = find_event(def, place), row;

	if (event < 0 && event != -ENOENT)
		return event;
	row = probe_new_row();
	if (row < 0)
		return row;
	(memcpy)(probe_text((u32)row), text, strlen(text) + 1); /* of a free row it means nothing yet */
	*probe_row((u32)row) = (struct probe){
		.state = PROBE_NAMED,
		.event = event < 0 ? (u32)row : (u32)event,
		.place = *place,
	};
	return 0;
}

int probe_define(const char *text, const struct probe_place *place)
{
	struct probe_def def;
	int err;

	if (!probe_def_read(text, &def))
		return refuse(EINVAL, "not a definition");
	if (is_taken(&def))
		return refuse(EEXIST, "the group has pcl's own events");
	event_lock();
	err = define_locked(text, &def, place);
	event_unlock();
	return err;
}

/* ---- deletion ---- */

/* Which to delete; group.len 0: of any group, event.len 0: any of the group. */
struct pattern {
	struct probe_part group, event;
	const char *rest;
};

/* What follows the names is the beginning of the definition, word by word. */
static bool matches(const struct pattern *p, const struct probe_def *d)
{
	const char *given = p->rest, *have = d->place;

	if ((p->group.len && !probe_part_same(&p->group, &d->group)) ||
	    (p->event.len && !probe_part_same(&p->event, &d->event)))
		return false;
	while (probe_word(given)) {
		struct probe_part a = {given, probe_word(given)}, b = {have, probe_word(have)};

		if (!probe_part_same(&a, &b))
			return false;
		given = probe_skip(given + a.len);
		have = probe_skip(have + b.len);
	}
	return true;
}

/* Another row of the event; the row itself: there is none. */
static u32 sibling(u32 row)
{
	for (u32 i = 0; i < probe_rows(); i++)
		if (i != row && probe_row(i)->state == PROBE_NAMED && probe_row(i)->event == probe_row(row)->event)
			return i;
	return row;
}

/* The first row of an event has its number: if others are left, one of them moves there. */
static int delete_row(u32 row)
{
	u32 other = sibling(row);

	if (other == row && probe_is_used(probe_row(row)->event))
		return refuse(EBUSY, "an event of this probe is open");
	if (other != row && probe_row(row)->event == row) {
		memcpy(probe_text(row), probe_text(other), PROBE_TEXT);
		*probe_row(row) = *probe_row(other);
		row = other;
	}
	probe_row(row)->state = PROBE_FREE;
	probe_changed(probe_row(row)->event);
	return 0;
}

static int delete_matching(const struct pattern *p)
{
	struct probe_def d;
	int err = -ENOENT;

	event_lock();
	for (u32 row = 0; row < probe_rows() && (!err || err == -ENOENT); row++)
		while ((!err || err == -ENOENT) && probe_is_named(row, &d) && matches(p, &d))
			err = delete_row(row);
	event_unlock();
	return err == -ENOENT ? refuse(ENOENT, "no such probe") : err;
}

int probe_undefine(const char *line)
{
	struct probe_part name = {line + 2, probe_word(line) - 2};
	struct pattern p = {.rest = probe_skip(line + probe_word(line))};
	const char *slash;

	if (probe_word(line) < 2 || line[1] != ':')
		return refuse(EINVAL, "which probe to delete follows -:");
	slash = probe_part_find(&name, '/');
	if (slash) {
		p.group = (struct probe_part){name.at, (u32)(slash - name.at)};
		name = (struct probe_part){slash + 1, name.len - p.group.len - 1};
	}
	p.event = name;
	if (!p.group.len && !p.event.len)
		return refuse(EINVAL, "which probe to delete follows -:");
	return delete_matching(&p);
}

int probe_undefine_all(void)
{
	struct probe_def d;
	int err = 0;

	event_lock();
	for (u32 row = 0; row < probe_rows() && !err; row++)
		if (probe_is_named(row, &d) && probe_is_used(probe_row(row)->event))
			err = refuse(EBUSY, "an event of a probe is open");
	for (u32 row = 0; row < probe_rows() && !err; row++)
		if (probe_row(row)->state == PROBE_NAMED)
			probe_row(row)->state = PROBE_FREE;
	event_unlock();
	return err;
}

/* ---- lines ---- */

static int write_line(const char *line, probe_find_file *find, void *ctx)
{
	char text[PROBE_TEXT];
	struct probe_place place;
	int err;

	line = probe_skip(line);
	if (*line == '-')
		return probe_undefine(line);
	err = probe_def_parse(line, find, ctx, text, &place);
	return err ? MIN(err, 0) : probe_define(text, &place);
}

long probe_write(const char *text, size_t n, probe_find_file *find, void *ctx)
{
	char line[PROBE_TEXT];
	size_t at = 0;

	while (at < n) {
		const char *newline = memchr(text + at, '\n', n - at), *comment;
		size_t len = newline ? (size_t)(newline - text) - at : n - at;
		int err;

		if (len >= sizeof(line) - 1)
			return at ? (long)at : refuse(EINVAL, "the line is longer than a page");
		memcpy(line, text + at, len);
		line[len] = 0;
		comment = strchr(line, '#');
		if (comment)
			line[comment - line] = 0;
		err = write_line(line, find, ctx);
		if (err)
			return err;
		at += len + !!newline;
	}
	return (long)at;
}
