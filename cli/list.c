/*
 * pcl list; see list.h. The events come from pmu/events.def and the vendors' tables, the names are those that perf -e
 * takes.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include "abi/types.h"
#include "cli/event_names.h"
#include "cli/launch.h"
#include "cli/list.h"
#include "cli/processor.h"

/* perf list tracepoint has every NAME. */
static const struct event_row tracepoints[] = {
	{"syscalls:sys_enter_NAME", NULL, PERF_TYPE_TRACEPOINT, 0, EXACT, "a system call begins, with its arguments",
	 false},
	{"syscalls:sys_exit_NAME", NULL, PERF_TYPE_TRACEPOINT, 0, EXACT, "it is done, with its result", false},
	{"raw_syscalls:sys_enter", NULL, PERF_TYPE_TRACEPOINT, 0, EXACT, "any system call begins", false},
	{"raw_syscalls:sys_exit", NULL, PERF_TYPE_TRACEPOINT, 0, EXACT, "it is done", false},
	{"sched:sched_process_fork", NULL, PERF_TYPE_TRACEPOINT, 0, EXACT, "a thread or process begins", false},
	{"sched:sched_process_exec", NULL, PERF_TYPE_TRACEPOINT, 0, EXACT, "a process executes a program", false},
	{"sched:sched_process_exit", NULL, PERF_TYPE_TRACEPOINT, 0, EXACT, "a thread or process ends", false},
	{"task:task_newtask", NULL, PERF_TYPE_TRACEPOINT, 0, EXACT, "as sched_process_fork, with the flags of clone",
	 false},
	{"task:task_rename", NULL, PERF_TYPE_TRACEPOINT, 0, EXACT, "a thread gets another name", false},
	{"signal:signal_deliver", NULL, PERF_TYPE_TRACEPOINT, 0, EXACT, "a signal is delivered", false},
	{"exceptions:page_fault_user", NULL, PERF_TYPE_TRACEPOINT, 0, MEASURED, "a page fault, with its address",
	 false},
};

/* Events that have no generic name are those of the cpu PMU. */
static void print_row(const struct event_row *r)
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
	for (size_t i = 0; i < event_nr_rows; i++)
		if (event_rows[i].type == type)
			print_row(&event_rows[i]);
}

/* What tools name that know the processor: perf by its tables, libpfm, PAPI. */
static void print_processor(void)
{
	printf("events of the cpu PMU by the processor's own numbers: %s\n", processor_text());
	for (size_t i = 0; i < processor_nr_events; i++) {
		const struct processor_event *e = &processor_events[i];
		char name[80];

		if (!(e->processors >> processor_chosen() & 1))
			continue;
		snprintf(name, sizeof(name), "cpu/%s/", processor_terms(e->config));
		printf("  %-34s %-9s %s%s%s\n", name, e->class, e->name, *e->differs ? ": " : "", e->differs);
	}
}

int list_main(int argc, char **argv)
{
	if (argc > 1) {
		fprintf(stderr, "pcl list: takes no arguments: %s (see pcl --help)\n", argv[1]);
		return LAUNCH_FAILED;
	}
	print_type(PERF_TYPE_HARDWARE, "hardware events");
	print_type(PERF_TYPE_RAW, "events of the cpu PMU");
	print_processor();
	print_type(PERF_TYPE_SOFTWARE, "software events");
	printf("tracepoints\n");
	for (size_t i = 0; i < ARRAY_SIZE(tracepoints); i++)
		print_row(&tracepoints[i]);
	printf("exact: counted one by one; modelled: computed from the instructions executed; "
	       "measured: read from the host.\n");
	return 0;
}
