/* pcl list; see list.h. The events come from pmu/events.def, the names are those that perf -e takes. */
#include <linux/perf_event.h>
#include <stdio.h>
#include "abi/types.h"
#include "cli/list.h"

#define EXACT "exact"
#define MODELLED "modelled"
#define MEASURED "measured"

struct row {
	const char *name, *alias;
	unsigned type;
	const char *class, *text;
};

static const struct row rows[] = {
#define EVENT(name, alias, type, config, class, source, text) {name, alias, type, class, text},
#include "pmu/events.def"
#undef EVENT
};

/* perf list tracepoint has every NAME. */
static const struct row tracepoints[] = {
	{"syscalls:sys_enter_NAME", NULL, PERF_TYPE_TRACEPOINT, EXACT, "a system call begins, with its arguments"},
	{"syscalls:sys_exit_NAME", NULL, PERF_TYPE_TRACEPOINT, EXACT, "it is done, with its result"},
	{"raw_syscalls:sys_enter", NULL, PERF_TYPE_TRACEPOINT, EXACT, "any system call begins"},
	{"raw_syscalls:sys_exit", NULL, PERF_TYPE_TRACEPOINT, EXACT, "it is done"},
};

/* Events that have no generic name are those of the cpu PMU. */
static void print_row(const struct row *r)
{
	char name[64];

	if (r->type == PERF_TYPE_RAW)
		snprintf(name, sizeof(name), "cpu/%s/", r->name);
	else
		snprintf(name, sizeof(name), "%s%s%s", r->name, r->alias ? " or " : "", r->alias ? r->alias : "");
	printf("  %-34s %-9s %s\n", name, r->class, r->text);
}

static void print_type(unsigned type, const char *title)
{
	printf("%s\n", title);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].type == type)
			print_row(&rows[i]);
}

int list_events(void)
{
	print_type(PERF_TYPE_HARDWARE, "hardware events");
	print_type(PERF_TYPE_RAW, "events of the cpu PMU");
	print_type(PERF_TYPE_SOFTWARE, "software events");
	printf("tracepoints\n");
	for (size_t i = 0; i < ARRAY_SIZE(tracepoints); i++)
		print_row(&tracepoints[i]);
	printf("exact: counted one by one; modelled: computed from the instructions executed; measured: read from the host.\n");
	return fflush(stdout) ? 125 : 0;
}
