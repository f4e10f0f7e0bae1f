/* See probe_format.h. Texts are those of Linux 6.18: tests/abi/uprobe_events.c compares them. */
#include "pmu/probe_format.h"

#include "event/space.h"
#include "rt/fmt.h"
#include "rt/string.h"

/* ---- names ---- */

int probe_by_name(const struct probe_part *group, const struct probe_part *event)
{
	struct probe_def d;

	for (u32 row = 0; row < probe_rows(); row++)
		if (probe_is_named(row, &d) && probe_part_same(&d.group, group) &&
		    (!event || probe_part_same(&d.event, event)))
			return (int)probe_row(row)->event;
	return -1;
}

/* The row is the first with its group's name, or (in a group) with its event's. */
static bool is_first(u32 row, const struct probe_def *d, bool of_group)
{
	struct probe_def other;

	for (u32 i = 0; i < row; i++)
		if (probe_is_named(i, &other) && probe_part_same(&other.group, &d->group) &&
		    (of_group || probe_part_same(&other.event, &d->event)))
			return false;
	return true;
}

int probe_group(u32 index, struct probe_part *out)
{
	struct probe_def d;

	for (u32 row = 0; row < probe_rows(); row++) {
		if (!probe_is_named(row, &d) || !is_first(row, &d, true) || index--)
			continue;
		*out = d.group;
		return (int)row;
	}
	return -1;
}

int probe_event(const struct probe_part *group, u32 index, struct probe_part *out)
{
	struct probe_def d;

	for (u32 row = 0; row < probe_rows(); row++) {
		if (!probe_is_named(row, &d) || !probe_part_same(&d.group, group) || !is_first(row, &d, false) ||
		    index--)
			continue;
		*out = d.event;
		return (int)row;
	}
	return -1;
}

/* ---- lists ---- */

size_t probe_list(char *buf, size_t size)
{
	struct probe_def d;
	size_t at = rt_append(buf, size, 0, "%s", "");

	for (u32 row = 0; row < probe_rows(); row++)
		if (probe_is_named(row, &d))
			at = rt_append(buf, size, at, "%s\n", probe_text(row));
	return at;
}

size_t probe_profile(char *buf, size_t size)
{
	struct probe_def d;
	size_t at = rt_append(buf, size, 0, "%s", "");

	for (u32 row = 0; row < probe_rows(); row++)
		if (probe_is_named(row, &d))
			at = rt_append(buf, size, at, "  %.*s %-44.*s %15lu\n", (int)d.path.len, d.path.at,
				       (int)d.event.len, d.event.at,
				       __atomic_load_n(&probe_row(row)->hits, __ATOMIC_RELAXED));
	return at;
}

/* ---- the layout of records ---- */

static size_t append_type(const struct probe_arg *a, char *buf, size_t size, size_t at)
{
	if (a->base == 't')
		return rt_append(buf, size, at, "__data_loc char[]");
	return rt_append(buf, size, at, "%c%u", a->base == 's' ? 's' : 'u', 8 * a->size);
}

/* Linux quirk: the number of an array's elements is told of strings only, and in the wrong place. */
static size_t append_field(const struct probe_arg *a, u32 head, char *buf, size_t size, size_t at)
{
	bool is_signed = a->base == 's' || a->base == 't';

	at = append_type(a, buf, size, rt_append(buf, size, at, "\tfield:"));
	if (a->count && a->base == 't')
		at = rt_append(buf, size, at, "[%u]", a->count);
	at = rt_append(buf, size, at, " %.*s%s;", (int)a->name_len, a->name, a->count && a->base != 't' ? "[]" : "");
	return rt_append(buf, size, at, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", head + a->offset, probe_arg_bytes(a),
			 is_signed);
}

static size_t append_print_type(const struct probe_arg *a, char *buf, size_t size, size_t at)
{
	const char *wide = a->size == 8 ? "L" : "";

	switch (a->base) {
	case 't':
		return rt_append(buf, size, at, "\\\"%%s\\\"");
	case 'c':
		return rt_append(buf, size, at, "'%%c'");
	case 'x':
		return rt_append(buf, size, at, "0x%%%sx", wide);
	default:
		return rt_append(buf, size, at, "%%%s%c", wide, a->base == 's' ? 'd' : 'u');
	}
}

static size_t append_print(const struct probe_arg *a, char *buf, size_t size, size_t at)
{
	at = rt_append(buf, size, at, " %.*s=%s", (int)a->name_len, a->name, a->count ? "{" : "");
	for (u32 i = 0; i < MAX(a->count, 1u); i++)
		at = append_print_type(a, buf, size, rt_append(buf, size, at, "%s", i ? "," : ""));
	return rt_append(buf, size, at, "%s", a->count ? "}" : "");
}

static size_t append_value(const struct probe_arg *a, char *buf, size_t size, size_t at)
{
	char element[8] = "";

	for (u32 i = 0; i < MAX(a->count, 1u); i++) {
		if (a->count)
			rt_snprintf(element, sizeof(element), "[%u]", i);
		at = rt_append(buf, size, at, a->base == 't' ? ", __get_str(%.*s%s)" : ", REC->%.*s%s",
			       (int)a->name_len, a->name, element);
	}
	return at;
}

/* The same for each argument. */
static size_t for_args(const struct probe_def *d, size_t (*append)(const struct probe_arg *a, char *, size_t, size_t),
		       char *buf, size_t size, size_t at)
{
	struct probe_args args = {.at = d->args};
	struct probe_arg a;

	while (probe_def_next(d, &args, &a))
		at = append ? append(&a, buf, size, at) : append_field(&a, probe_head(d->is_return), buf, size, at);
	return at;
}

size_t probe_format(u32 row, char *buf, size_t size)
{
	static const char common[] = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
				     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
				     "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
				     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
	static const char entry[] = "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n";
	static const char ret[] = "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
				  "\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n";
	struct probe_def d;
	size_t at;

	if (!probe_is_named(row, &d))
		return 0;
	at = rt_append(buf, size, 0, "name: %.*s\nID: %u\nformat:\n%s%s", (int)d.event.len, d.event.at,
		       PROBE_ID + probe_row(row)->event, common, d.is_return ? ret : entry);
	at = for_args(&d, NULL, buf, size, at);
	at = rt_append(buf, size, at, "\nprint fmt: \"%s", d.is_return ? "(%lx <- %lx)" : "(%lx)");
	at = for_args(&d, append_print, buf, size, at);
	at = rt_append(buf, size, at, "\", %s",
		       d.is_return ? "REC->__probe_func, REC->__probe_ret_ip" : "REC->__probe_ip");
	at = for_args(&d, append_value, buf, size, at);
	return rt_append(buf, size, at, "\n");
}

/* ---- filters ---- */

static enum filter_kind kind_of(const struct probe_arg *a)
{
	static const enum filter_kind plain[] = {[1] = FILTER_U8, [2] = FILTER_U16, [4] = FILTER_U32, [8] = FILTER_U64},
				      negative[] = {
					      [1] = FILTER_S8, [2] = FILTER_S16, [4] = FILTER_S32, [8] = FILTER_S64};

	if (a->count)
		return FILTER_NONE;
	if (a->base == 't')
		return FILTER_STRING;
	return a->base == 's' ? negative[a->size & 15] : plain[a->size & 15];
}

static bool arg_field(const struct probe_def *d, u32 index, struct filter_field *out)
{
	struct probe_args args = {.at = d->args};
	struct probe_arg a;

	do
		if (!probe_def_next(d, &args, &a))
			return false;
	while (index--);
	*out = (struct filter_field){a.name, a.name_len, (u16)(probe_head(d->is_return) + a.offset), kind_of(&a)};
	return true;
}

bool probe_field(u32 row, u32 index, struct filter_field *out)
{
	static const struct filter_field func = {"__probe_func", 12, 8, FILTER_U64},
					 ret_ip = {"__probe_ret_ip", 14, 16, FILTER_U64},
					 ip = {"__probe_ip", 10, 8, FILTER_U64};
	struct probe_def d;

	if (!probe_is_named(row, &d))
		return false;
	if (index < 1u + d.is_return) {
		*out = !d.is_return ? ip : index ? ret_ip : func;
		return true;
	}
	return arg_field(&d, index - 1 - d.is_return, out);
}
