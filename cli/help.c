/* See help.h. All of it comes from the tables of options and commands. */
#include <stdio.h>
#include "abi/types.h"
#include "cli/commands.h"
#include "cli/help.h"

static void print_rows(const struct option_table *t)
{
	for (size_t i = 0; i < t->nr; i++) {
		const struct option_row *o = &t->rows[i];
		char left[80];

		if (o->letter)
			snprintf(left, sizeof(left), "-%c, --%s%s", o->letter, o->name, o->argument);
		else
			snprintf(left, sizeof(left), "--%s%s", o->name, o->argument);
		printf("  %-20s %s\n", left, o->help);
	}
}

int help_print(void)
{
	printf("usage: pcl [options] [--] program [arguments...]\n");
	for (size_t i = 0; i < commands_nr; i++)
		printf("       pcl %s%s%s\n", commands[i].name, *commands[i].arguments ? " " : "",
		       commands[i].arguments);
	printf("\nRuns a program with its own perf_event_open(2), for machines whose kernel has no hardware "
	       "counters.\n\n");
	for (size_t i = 0; i < commands_nr; i++)
		printf("  pcl %-8s %s\n", commands[i].name, commands[i].help);
	printf("\noptions:\n");
	print_rows(&options_table);
	for (size_t i = 0; i < commands_nr; i++)
		if (commands[i].table) {
			printf("\noptions of pcl %s:\n", commands[i].name);
			print_rows(commands[i].table);
		}
	return 0;
}

int help_command(const struct command *c)
{
	printf("usage: pcl [options] %s%s%s\n\npcl %s %s.\n", c->name, *c->arguments ? " " : "", c->arguments, c->name,
	       c->help);
	if (c->table) {
		printf("\noptions:\n");
		print_rows(c->table);
	}
	printf("\nThe options of pcl itself stand in front of the command: pcl --help\n");
	return 0;
}

int help_version(void)
{
	printf("pcl " PCL_VERSION "\n");
	return 0;
}
