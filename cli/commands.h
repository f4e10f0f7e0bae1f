/* The commands of pcl as data, from cli/commands.def and the tables of their options. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

struct command {
	const char *name, *arguments, *help;
	const struct option_table *table; /* NULL: it has no options */
	int (*run)(int argc, char **argv); /* argv[0] is its name; returns the exit status */
	bool is_client;			   /* it opens events, so it has to be a guest */
};

extern const struct command commands[];
extern const size_t commands_nr;

#endif
