/*
 * pcl check --by-function: in which functions a count changed. The baseline has the counts by samples of the first
 * event; a function is known by its name and the last part of its file's.
 */
#ifndef CLI_CHECK_FUNCTIONS_H
#define CLI_CHECK_FUNCTIONS_H

#include <json-c/json.h>
#include <stdio.h>
#include "cli/baseline.h"
#include "cli/count.h"
#include "cli/print.h"

struct changed_function {
	char *key;
	u64 before, now;
};

struct check_functions {
	struct changed_function *changed; /* greatest change first; what samples can tell */
	int nr;
	bool known;	   /* the baseline has functions of this event */
	const char *event; /* its name */
	bool is_time;
	u64 lost;	       /* records of samples */
	char note[PRINT_NOTE]; /* that some were; empty: none */
};

/* Before the baseline is updated. */
void check_functions_compare(struct check_functions *c, const struct baseline *b, const struct counts *counts);
void check_functions_update(struct baseline *b, const struct counts *counts);

void check_functions_print(const struct check_functions *c, FILE *f);
struct json_object *check_functions_json(const struct check_functions *c);

void check_functions_free(struct check_functions *c);

#endif
