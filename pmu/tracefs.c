/* See tracefs.h. The texts are those of Linux on x86-64 with pages of 4096 bytes. */
#include "pmu/tracefs.h"

#include <asm-generic/errno.h>
#include "event/space.h"
#include "pmu/probe_format.h"
#include "pmu/tracefs_texts.h"
#include "pmu/tracepoint_task.h"
#include "rt/refuse.h"
#include "rt/fmt.h"
#include "rt/string.h"

/* The last one with the interface of 2009, which knows it by that name. */
static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing", "/debug/tracing"};

enum place {
	NOWHERE, ROOT, EVENTS, HEADER_EVENT, HEADER_PAGE, FTRACE, CALLS, RAW_CALLS, TRACEPOINT_DIR, FORMAT, ID,
	EXCEPTIONS, SCHED, SIGNAL, TASK, DESCRIBED_DIR, DESCRIBED_FORMAT,
	README, AVAILABLE_EVENTS, UPROBE_EVENTS, UPROBE_PROFILE, PROBE_GROUP, PROBE_DIR, PROBE_FORMAT, PROBE_ID_FILE,
	PROBE_ENABLE, PROBE_FILTER,
};

#define COMMON_FIELDS                                                                                                  \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                                         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"                                 \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* Described only, for tools that want to know their fields. No driver takes the ids, so there are no files of these. */
static const struct {
	enum place in;
	const char *name;
	u32 id;
	const char *fields;
} described[] = {
	{FTRACE, "function", 1,
	 "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	 "\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	 "print fmt: \"%lx %lx\", REC->ip, REC->parent_ip\n"},
	{SCHED, "sched_switch", 24,
	 "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	 "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	 "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	 "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	 "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	 "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	 "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
	 "print fmt: \"prev_pid=%d next_pid=%d\", REC->prev_pid, REC->next_pid\n"},
	{SCHED, "sched_wakeup", 25,
	 "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	 "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	 "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	 "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n"
	 "print fmt: \"pid=%d target_cpu=%d\", REC->pid, REC->target_cpu\n"},
};

/*
 * The entries that are always the same, of places that have such. events/ftrace is not listed: perf record wants to
 * open it, but who names all tracepoints ("*:*") does not mean it.
 */
static const struct {
	enum place in, what;
	const char *name;
} entries[] = {
	{ROOT, README, "README"},
	{ROOT, AVAILABLE_EVENTS, "available_events"},
	{ROOT, EVENTS, "events"},
	{ROOT, UPROBE_EVENTS, "uprobe_events"},
	{ROOT, UPROBE_PROFILE, "uprobe_profile"},
	{EVENTS, HEADER_EVENT, "header_event"},
	{EVENTS, HEADER_PAGE, "header_page"},
	{EVENTS, EXCEPTIONS, "exceptions"},
	{EVENTS, RAW_CALLS, "raw_syscalls"},
	{EVENTS, SCHED, "sched"},
	{EVENTS, SIGNAL, "signal"},
	{EVENTS, CALLS, "syscalls"},
	{EVENTS, TASK, "task"},
	{RAW_CALLS, TRACEPOINT_DIR, "sys_enter"},
	{RAW_CALLS, TRACEPOINT_DIR, "sys_exit"},
	{TRACEPOINT_DIR, FORMAT, "format"},
	{TRACEPOINT_DIR, ID, "id"},
	{DESCRIBED_DIR, DESCRIBED_FORMAT, "format"},
	{PROBE_DIR, PROBE_ENABLE, "enable"},
	{PROBE_DIR, PROBE_FILTER, "filter"},
	{PROBE_DIR, PROBE_FORMAT, "format"},
	{PROBE_DIR, PROBE_ID_FILE, "id"},
};

/* ---- paths ---- */

/* What follows the root, without slashes at either end of it; NULL: another path. */
static const char *below_root(const char *path)
{
	u32 n = ARRAY_SIZE(roots) - !event_space->abi_2009;

	for (u32 i = 0; i < n; i++) {
		size_t len = strlen(roots[i]);

		if (!strncmp(path, roots[i], len) && (!path[len] || path[len] == '/'))
			return path + len + (path[len] == '/');
	}
	return NULL;
}

bool tracefs_has(const char *path)
{
	return below_root(path);
}

/* Takes a part off the front: its length. */
static size_t take_part(const char **path, const char **part)
{
	const char *end = strchr(*path, '/');
	size_t len = end ? (size_t)(end - *path) : strlen(*path);

	*part = *path;
	*path += len + !!end;
	return len;
}

static bool is_part(const char *part, size_t len, const char *text)
{
	return len == strlen(text) && !memcmp(part, text, len);
}

static bool find_tracepoint(bool raw, const char *name, size_t len, struct tracepoint *tp)
{
	static const char *const prefix[] = {"sys_enter", "sys_exit"};

	for (u32 exit = 0; exit < 2; exit++) {
		size_t n = strlen(prefix[exit]);

		if (raw && is_part(name, len, prefix[exit]))
			return tracepoint_by_id(tracepoint_id(exit ? TRACE_RAW_EXIT : TRACE_RAW_ENTER, 0), tp);
		if (!raw && len > n && !memcmp(name, prefix[exit], n) && name[n] == '_')
			return tracepoint_by_name(exit ? TRACE_EXIT : TRACE_ENTER, name + n + 1, len - n - 1, tp);
	}
	return false;
}

/* *nr: which of them. */
static enum place find_described(enum place in, const char *path, u32 *nr)
{
	const char *part;
	size_t len = take_part(&path, &part);

	if (!len)
		return in;
	for (*nr = 0; *nr < ARRAY_SIZE(described); ++*nr) {
		if (described[*nr].in != in || !is_part(part, len, described[*nr].name))
			continue;
		len = take_part(&path, &part);
		if (!len || *path)
			return len ? NOWHERE : DESCRIBED_DIR;
		return is_part(part, len, "format") ? DESCRIBED_FORMAT : NOWHERE;
	}
	return NOWHERE;
}

static const char *group_name(enum place place)
{
	static const char *const names[] = {
		[EXCEPTIONS] = "exceptions", [SCHED] = "sched", [SIGNAL] = "signal", [TASK] = "task"};

	return place >= EXCEPTIONS && place <= TASK ? names[place] : NULL;
}

/* What is in the directory of a tracepoint. */
static enum place find_in_tracepoint(const char *path)
{
	const char *part;
	size_t len = take_part(&path, &part);

	if (!len)
		return TRACEPOINT_DIR;
	if (*path)
		return NOWHERE;
	return is_part(part, len, "format") ? FORMAT : is_part(part, len, "id") ? ID : NOWHERE;
}

static enum place find_in_group(enum place group, const char *path, struct tracepoint *tp)
{
	const char *rest = path, *part;
	size_t len = take_part(&rest, &part);
	int which;

	for (u32 i = 0; (which = task_tracepoint_of(group_name(group), i)) >= 0; i++) {
		if (!is_part(part, len, task_tracepoint((u32)which)->name))
			continue;
		tracepoint_by_id(tracepoint_id(TRACE_TASK, which), tp);
		return find_in_tracepoint(rest);
	}
	return find_described(group, path, &tp->nr);
}

static bool is_probes(enum place place)
{
	return place >= PROBE_GROUP;
}

/* tp->nr: the probe's row. */
static enum place find_probe(const char *group, size_t len, const char *path, struct tracepoint *tp)
{
	struct probe_part of = {group, (u32)len}, event;
	const char *file;
	int row;

	event.len = (u32)take_part(&path, &event.at);
	row = probe_by_name(&of, event.len ? &event : NULL);
	if (row < 0)
		return NOWHERE;
	tp->nr = (u32)row;
	len = take_part(&path, &file);
	if (!event.len || !len)
		return event.len ? PROBE_DIR : PROBE_GROUP;
	if (*path)
		return NOWHERE;
	return is_part(file, len, "format")   ? PROBE_FORMAT
	       : is_part(file, len, "id")     ? PROBE_ID_FILE
	       : is_part(file, len, "enable") ? PROBE_ENABLE
	       : is_part(file, len, "filter") ? PROBE_FILTER
					      : NOWHERE;
}

static enum place find_in_events(const char *path, struct tracepoint *tp)
{
	const char *part;
	size_t len = take_part(&path, &part);
	bool raw = is_part(part, len, "raw_syscalls");

	if (!len)
		return EVENTS;
	if (is_part(part, len, "header_event"))
		return *path ? NOWHERE : HEADER_EVENT;
	if (is_part(part, len, "header_page"))
		return *path ? NOWHERE : HEADER_PAGE;
	if (is_part(part, len, "ftrace"))
		return find_described(FTRACE, path, &tp->nr);
	for (enum place group = EXCEPTIONS; group <= TASK; group++)
		if (is_part(part, len, group_name(group)))
			return find_in_group(group, path, tp);
	if (!raw && !is_part(part, len, "syscalls"))
		return find_probe(part, len, path, tp);
	len = take_part(&path, &part);
	if (!len)
		return raw ? RAW_CALLS : CALLS;
	if (!find_tracepoint(raw, part, len, tp))
		return NOWHERE;
	return find_in_tracepoint(path);
}

static enum place find(const char *path, struct tracepoint *tp)
{
	const char *part;
	size_t len;

	path = below_root(path);
	if (!path)
		return NOWHERE;
	len = take_part(&path, &part);
	if (!len)
		return ROOT;
	if (is_part(part, len, "events"))
		return find_in_events(path, tp);
	if (*path)
		return NOWHERE;
	for (u32 i = 0; i < ARRAY_SIZE(entries); i++)
		if (entries[i].in == ROOT && is_part(part, len, entries[i].name))
			return entries[i].what;
	return NOWHERE;
}

static enum pmu_node node_of(enum place place)
{
	switch (place) {
	case NOWHERE:
		return PMU_NODE_NONE;
	case HEADER_EVENT:
	case HEADER_PAGE:
	case FORMAT:
	case ID:
	case DESCRIBED_FORMAT:
	case README:
	case AVAILABLE_EVENTS:
	case UPROBE_EVENTS:
	case UPROBE_PROFILE:
	case PROBE_FORMAT:
	case PROBE_ID_FILE:
	case PROBE_ENABLE:
	case PROBE_FILTER:
		return PMU_NODE_FILE;
	default:
		return PMU_NODE_DIR;
	}
}

enum pmu_node tracefs_find(const char *path)
{
	struct tracepoint tp;

	return node_of(find(path, &tp));
}

bool tracefs_is_fixed(const char *path)
{
	struct tracepoint tp;
	enum place place = find(path, &tp);

	return place != NOWHERE && !is_probes(place);
}

u32 tracefs_mode(const char *path)
{
	struct tracepoint tp;
	enum place place = find(path, &tp);

	return place == UPROBE_EVENTS || place == PROBE_ENABLE || place == PROBE_FILTER ? 0644 : 0444;
}

bool tracefs_is_uprobe_events(const char *path)
{
	struct tracepoint tp;

	return find(path, &tp) == UPROBE_EVENTS;
}

/* ---- contents ---- */

long tracefs_read(const char *path, char *buf, size_t size)
{
	struct tracepoint tp;

	switch (find(path, &tp)) {
	case NOWHERE:
		return -ENOENT;
	case HEADER_EVENT:
		return rt_snprintf(buf, size, "%s", tracefs_header_event);
	case HEADER_PAGE:
		return rt_snprintf(buf, size, "%s", tracefs_header_page);
	case FORMAT:
		return tracefs_format(&tp, buf, size);
	case ID:
		return rt_snprintf(buf, size, "%u\n", tracepoint_id(tp.kind, tp.nr));
	case README:
		return rt_snprintf(buf, size, "%s", tracefs_readme);
	case AVAILABLE_EVENTS:
		return (long)tracefs_available(buf, size);
	case UPROBE_EVENTS:
		return (long)probe_list(buf, size);
	case UPROBE_PROFILE:
		return (long)probe_profile(buf, size);
	case PROBE_FORMAT:
		return (long)probe_format(tp.nr, buf, size);
	case PROBE_ID_FILE:
		return rt_snprintf(buf, size, "%u\n", PROBE_ID + tp.nr);
	case PROBE_ENABLE:
		return rt_snprintf(buf, size, "0\n");
	case PROBE_FILTER:
		return rt_snprintf(buf, size, "none\n");
	case DESCRIBED_FORMAT:
		return rt_snprintf(buf, size, "name: %s\nID: %u\nformat:\n%s%s", described[tp.nr].name,
				   described[tp.nr].id, COMMON_FIELDS, described[tp.nr].fields);
	default:
		return -EISDIR;
	}
}

long tracefs_write(const char *path, const char *text, size_t n)
{
	struct tracepoint tp;
	enum place place = find(path, &tp);

	if (place == PROBE_ENABLE && n && text[0] == '0' && (n == 1 || text[1] == '\n'))
		return (long)n;
	if (place == PROBE_ENABLE || place == PROBE_FILTER)
		return refuse(EOPNOTSUPP, "there is no trace buffer: open the event by perf_event_open(2)");
	return place == NOWHERE ? -ENOENT : -EACCES;
}

/* ---- directories ---- */

static enum pmu_node fixed_entry(enum place place, u32 *index, char *name)
{
	int which;

	for (u32 i = 0; i < ARRAY_SIZE(entries); i++) {
		if (entries[i].in != place || (*index)--)
			continue;
		rt_snprintf(name, TRACEFS_NAME, "%s", entries[i].name);
		return node_of(entries[i].what);
	}
	for (u32 i = 0; group_name(place) && (which = task_tracepoint_of(group_name(place), i)) >= 0; i++) {
		if ((*index)--)
			continue;
		rt_snprintf(name, TRACEFS_NAME, "%s", task_tracepoint((u32)which)->name);
		return PMU_NODE_DIR;
	}
	for (u32 i = 0; i < ARRAY_SIZE(described); i++) {
		if (described[i].in != place || (*index)--)
			continue;
		rt_snprintf(name, TRACEFS_NAME, "%s", described[i].name);
		return PMU_NODE_DIR;
	}
	return PMU_NODE_NONE;
}

/* Groups of probes, and events of a group. */
static enum pmu_node probe_entry(enum place place, u32 row, u32 index, char *name)
{
	struct probe_part part;
	struct probe_def d;
	int found = -1;

	if (place == EVENTS)
		found = probe_group(index, &part);
	else if (place == PROBE_GROUP && probe_def_read(probe_text(row), &d))
		found = probe_event(&d.group, index, &part);
	if (found < 0)
		return PMU_NODE_NONE;
	rt_snprintf(name, TRACEFS_NAME, "%.*s", (int)part.len, part.at);
	return PMU_NODE_DIR;
}

enum pmu_node tracefs_entry(const char *dir, u32 index, char name[TRACEFS_NAME])
{
	struct tracepoint tp;
	enum place place = find(dir, &tp);
	enum pmu_node node;

	if (place != CALLS) {
		node = fixed_entry(place, &index, name);
		return node != PMU_NODE_NONE ? node : probe_entry(place, tp.nr, index, name);
	}
	for (u32 nr = 0; nr < TRACE_CALLS; nr++) {
		if (!tracepoint_id(TRACE_ENTER, nr))
			continue;
		if (index < 2) {
			tracepoint_by_id(tracepoint_id(index ? TRACE_EXIT : TRACE_ENTER, nr), &tp);
			tracefs_tracepoint_name(&tp, name, TRACEFS_NAME);
			return PMU_NODE_DIR;
		}
		index -= 2;
	}
	return PMU_NODE_NONE;
}
