/* pcl check: compares the counts of a benchmark with those of a file. */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include <stdio.h>
#include "abi/types.h"
#include "cli/options.h"

#define CHECK_REGRESSION 120 /* exit status */

struct check_functions;

struct check_options {
#define OPTION(kind, letter, name, field, argument, help) OPTION_FIELD(kind, field)
#include "cli/check.def"
#undef OPTION
};

extern const struct option_table check_table;

enum verdict {
	VERDICT_SAME,	/* to the unit */
	VERDICT_WITHIN, /* other, within the tolerance */
	VERDICT_BETTER, /* fewer by more than that */
	VERDICT_REGRESSION,
	VERDICT_NEW,	    /* the baseline does not have it */
	VERDICT_NOT_JUDGED, /* it is measured or estimated */
};

struct comparison {
	const char *key, *event, *class; /* the event in the file, its name for people */
	bool is_time;
	u64 before, now; /* before: unless VERDICT_NEW */
	enum verdict verdict;
};

struct check {
	const char *name, *label, *file; /* label: the name in one line */
	double tolerance;		 /* per cent */
	bool updated;
	const char *other_cpu; /* the baseline is of this processor; NULL: of this one, or not known */
	struct comparison *event;
	int nr, regressions, better, fresh, unjudged; /* fresh: new */
	int still_running;			      /* tasks that went on after the program's end, most of a run */
	int leavers;				      /* processes that gave up their user, the same */
	const char *notes[2];			      /* that they did; NULL: none */
	const struct check_functions *functions;      /* NULL: nobody asked */
};

/* By how many per cent; INFINITY from 0 on. */
double check_change(const struct comparison *c);

/* Why not one count was compared. NULL: at least one was, or the baseline was updated. */
const char *check_nothing(const struct check *c);

/* cli/check_print.c */
void check_print_table(const struct check *c, FILE *f);
void check_print_json(const struct check *c, FILE *f);
void check_print_github(const struct check *c, FILE *f);
/* As a table in Markdown; 0 or -1 with errno. */
int check_append_summary(const struct check *c, const char *path);

int check_main(int argc, char **argv);

#endif
