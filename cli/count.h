/* pcl count: counts events of a program without perf. */
#ifndef CLI_COUNT_H
#define CLI_COUNT_H

#include "abi/types.h"
#include "cli/by_function.h"
#include "cli/counting.h"
#include "cli/options.h"

#define COUNT_DEFAULT	    "instructions,branches,cycles,task-clock,page-faults"
#define BY_FUNCTION_DEFAULT "instructions"

struct count_options {
#define OPTION(kind, letter, name, field, argument, help) OPTION_FIELD(kind, field)
#include "cli/count.def"
#undef OPTION
};

extern const struct option_table count_table;

/* What all runs together say of one event. The values are sorted. */
struct summary {
	u64 *value;
	u64 min, median, max;
};

/* All that is printed. */
struct counts {
	char **argv;
	struct specs specs;
	struct run *run;
	int runs, wanted;	 /* made, of which the last one may have failed; asked for */
	struct summary *summary; /* one for each event */
	bool per_process, per_thread;
	struct by_function *functions; /* NULL: nobody asked for them */
};

/* What is wanted besides the counts, of one run then. */
struct count_parts {
	bool per_process, per_thread, by_function;
	int period; /* of samples by function, 0: the usual one */
};

/*
 * Counts that many runs of a program, for a process that is a guest. A run that does not end with status 0 is the last.
 * Returns 0 or an exit status after a message; what a run ended with is in its status.
 */
int count_runs(const char *events, int runs, char **argv, const struct count_parts *parts, struct counts *out);
/* Tasks that went on when the program had ended, of the run with most; -1: not known. */
int count_still_running(const struct counts *c);
/* Processes that gave up their user and with it the session, of the run with most. */
int count_leavers(const struct counts *c);
void count_free(struct counts *c);

/* argv[0] is "count". Returns an exit status. */
int count_main(int argc, char **argv);

#endif
