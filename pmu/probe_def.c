/* See probe_def.h: the texts. The order of the checks is that of the kernel's __trace_uprobe_create(). */
#include "pmu/probe_def.h"

#include <asm-generic/errno.h>
#include "rt/fmt.h"
#include "rt/refuse.h"
#include "rt/string.h"

#define PATH_ROOM 4096
#define TAIL_ROOM 256

/* ---- the form that is shown ---- */

bool probe_def_read(const char *text, struct probe_def *out)
{
	const char *slash = memchr(text, 0, PROBE_TEXT) ? strchr(text, '/') : NULL, *colon;
	struct probe_part word;

	*out = (struct probe_def){.is_return = text[0] == 'r'};
	if ((text[0] != 'p' && text[0] != 'r') || text[1] != ':' || !slash)
		return false;
	out->group = (struct probe_part){text + 2, (u32)(slash - text) - 2};
	out->event = (struct probe_part){slash + 1, probe_word(slash + 1)};
	out->place = probe_skip(slash + 1 + out->event.len);
	word = (struct probe_part){out->place, probe_word(out->place)};
	colon = probe_part_find_last(&word, ':');
	out->path = (struct probe_part){word.at, colon ? (u32)(colon - word.at) : 0};
	out->args = probe_skip(word.at + word.len);
	return colon;
}

bool probe_def_next(const struct probe_def *d, struct probe_args *args, struct probe_arg *out)
{
	if (!*args->at || args->index == PROBE_ARGS || probe_arg_parse(args->at, d->is_return, out) ||
	    !out->name)
		return false;
	out->offset = args->offset;
	args->offset += probe_arg_bytes(out);
	args->at = probe_skip(args->at + probe_word(args->at));
	args->index++;
	return true;
}

/* ---- a line ---- */

struct line {
	struct probe_part head, place, path;
	const char *args, *end;
	bool is_return;
	struct probe_part group, event;
	char path_text[PATH_ROOM], made_up[TAIL_ROOM];
};

static const char *next_word(const char *at, const char *end, struct probe_part *out)
{
	at = probe_skip(at);
	*out = (struct probe_part){at, MIN(probe_word(at), (u32)(end - at))};
	return at + out->len;
}

static u32 count_words(const char *at, const char *end)
{
	struct probe_part word;
	u32 n = 0;

	for (;; n++) {
		at = next_word(at, end, &word);
		if (!word.len)
			return n;
	}
}

/* "PATH:OFFSET...": the path. */
static int find_path(struct line *l)
{
	const char *colon = probe_part_find_last(&l->place, ':');

	if (!probe_part_find(&l->place, '/') || !colon || colon[1] < '0' || colon[1] > '9')
		return refuse(EINVAL, "a probe's place is a path with a slash, a colon and an offset");
	l->path = (struct probe_part){l->place.at, (u32)(colon - l->place.at)};
	if (l->path.len >= sizeof(l->path_text))
		return refuse(ENAMETOOLONG, "the path is too long");
	memcpy(l->path_text, l->path.at, l->path.len);
	l->path_text[l->path.len] = 0;
	return 0;
}

/* "OFFSET[%return][(REF_CTR_OFFSET)]" */
static int parse_offsets(struct line *l, struct probe_place *out)
{
	struct probe_part rest = {l->path.at + l->path.len + 1, l->place.len - l->path.len - 1}, part;
	const char *open = probe_part_find(&rest, '('), *close = probe_part_find(&rest, ')'), *percent;

	if (open) {
		part = (struct probe_part){open + 1, close > open ? (u32)(close - open) - 1 : 0};
		if (close != rest.at + rest.len - 1 || !probe_part_number(&part, 0, &out->ref_ctr))
			return refuse(EINVAL, "the ref_ctr_offset is a number in parentheses, at the end");
		rest.len = (u32)(open - rest.at);
	}
	percent = probe_part_find(&rest, '%');
	if (percent) {
		part = (struct probe_part){percent, (u32)(rest.at + rest.len - percent)};
		if (!probe_part_is(&part, "%return"))
			return refuse(EINVAL, "what follows the offset is not %%return");
		l->is_return = true;
		rest.len = (u32)(percent - rest.at);
	}
	out->is_return = l->is_return;
	return probe_part_number(&rest, 0, &out->offset) ? 0 : refuse(EINVAL, "the offset is not a number");
}

/* "p_NAME_0xOFFSET", of the file's name up to a dot, a dash or an underscore. */
static void make_up_name(struct line *l, u64 offset)
{
	const char *slash = probe_part_find_last(&l->path, '/');
	u32 n = 0, room = (u32)(l->path.at + l->path.len - slash) - 1;

	while (n < room && !strchr(".-_", slash[1 + n]))
		n++;
	rt_snprintf(l->made_up, PROBE_NAME, "p_%.*s_0x%lx", (int)n, slash + 1, offset);
	l->event = (struct probe_part){l->made_up, (u32)strlen(l->made_up)};
}

/* "p[:[GROUP/][EVENT]]"; a dot does as well as a slash. */
static int parse_names(struct line *l, u64 offset)
{
	struct probe_part name = {l->head.at + 2, l->head.len - 2};
	const char *slash;

	l->group = (struct probe_part){"uprobes", 7};
	if (l->head.len < 2 || l->head.at[1] != ':') {
		make_up_name(l, offset);
		return 0;
	}
	slash = probe_part_find(&name, '/');
	slash = slash ? slash : probe_part_find(&name, '.');
	if (slash) {
		l->group = (struct probe_part){name.at, (u32)(slash - name.at)};
		name = (struct probe_part){slash + 1, name.len - l->group.len - 1};
		if (l->group.len >= PROBE_NAME || !probe_is_name(&l->group, true))
			return refuse(EINVAL, "not a name that a group can have");
	}
	l->event = name;
	if (slash && !name.len)
		make_up_name(l, offset);
	if (l->event.len >= PROBE_NAME || !probe_is_name(&l->event, false))
		return refuse(EINVAL, "not a name that an event can have");
	return 0;
}

static bool has_name(const struct probe_part *name, const char *text)
{
	struct probe_def d;
	struct probe_args args;
	struct probe_arg a;

	probe_def_read(text, &d);
	args = (struct probe_args){.at = d.args};
	while (probe_def_next(&d, &args, &a))
		if (a.name_len == name->len && !memcmp(a.name, name->at, name->len))
			return true;
	return false;
}

/* rt_append() has come to the end of the text. */
static int refuse_long(void)
{
	return refuse(E2BIG, "the definition, as it is shown, is longer than a page");
}

/* Appends the arguments to the text, each with its name. */
static int parse_args(const struct line *l, char *text)
{
	struct probe_part word;
	char name[PROBE_NAME];
	u32 i = 0;

	for (const char *at = l->args;; i++) {
		struct probe_part its = {name, 0};
		struct probe_arg a;
		size_t len = strlen(text);
		int err;

		at = next_word(at, l->end, &word);
		if (!word.len)
			return 0;
		err = probe_arg_parse(word.at, l->is_return, &a);
		if (err)
			return err;
		if (a.name)
			its = (struct probe_part){a.name, a.name_len};
		else
			its.len = (u32)rt_snprintf(name, sizeof(name), "arg%u", i + 1);
		if (has_name(&its, text))
			return refuse(EINVAL, "two arguments have one name");
		len = rt_append(text, PROBE_TEXT, len, " %.*s=%.*s", (int)its.len, its.at, (int)a.text_len, a.text);
		if (len == PROBE_TEXT - 1)
			return refuse_long();
	}
}

static int parse(struct line *l, probe_find_file *find, void *ctx, char *text, struct probe_place *place)
{
	size_t at;
	int err;

	if (l->head.at[0] != 'p' && l->head.at[0] != 'r')
		return refuse(EINVAL, "a definition begins with p, r or -");
	l->is_return = l->head.at[0] == 'r';
	if (count_words(l->args, l->end) > PROBE_ARGS)
		return refuse(E2BIG, "a probe has 128 arguments at most");
	err = find_path(l);
	err = err ? err : find(ctx, l->path_text, &place->dev, &place->ino);
	err = err ? err : parse_offsets(l, place);
	err = err ? err : parse_names(l, place->offset);
	if (err)
		return err;
	at = rt_append(text, PROBE_TEXT, 0, "%c:%.*s/%.*s %.*s:0x%016lx", place->is_return ? 'r' : 'p',
		       (int)l->group.len, l->group.at, (int)l->event.len, l->event.at, (int)l->path.len, l->path.at,
		       place->offset);
	if (place->ref_ctr)
		at = rt_append(text, PROBE_TEXT, at, "(0x%lx)", place->ref_ctr);
	return at == PROBE_TEXT - 1 ? refuse_long() : parse_args(l, text);
}

int probe_def_parse(const char *line, probe_find_file *find, void *ctx, char text[PROBE_TEXT],
		    struct probe_place *place)
{
	struct line l;
	const char *at;

	l.end = line;
	while (*l.end && *l.end != '\n')
		l.end++;
	*place = (struct probe_place){0};
	at = next_word(line, l.end, &l.head);
	if (!l.head.len)
		return 1;
	l.args = next_word(at, l.end, &l.place);
	return parse(&l, find, ctx, text, place);
}
