/* See manual.h. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include "abi/types.h"
#include "cli/commands.h"
#include "cli/event_names.h"
#include "cli/launch.h"
#include "cli/manual.h"

/* A hyphen that is to stay one is written \-, a backslash \e; a line must not begin with a dot or an apostrophe. */
static void roff(const char *text)
{
	if (*text == '.' || *text == '\'')
		printf("\\&");
	for (; *text; text++)
		printf(*text == '-' ? "\\-" : *text == '\\' ? "\\e" : "%c", *text);
}

static void title(const char *name, int section)
{
	printf(".TH %s %d \"\" \"pcl " PCL_VERSION "\"\n", name, section);
}

static void rows(const struct option_table *t)
{
	for (size_t i = 0; i < t->nr; i++) {
		const struct option_row *o = &t->rows[i];

		printf(".TP\n.B ");
		if (o->letter)
			printf("\\-%c\\fR, \\fB", o->letter);
		printf("\\-\\-");
		roff(o->name);
		roff(o->argument);
		printf("\n");
		roff(o->help);
		printf("\n");
	}
}

static void synopsis(void)
{
	printf(".SH SYNOPSIS\n.B pcl\n[options] [\\-\\-]\n.I program\n[arguments...]\n");
	for (size_t i = 0; i < commands_nr; i++) {
		printf(".br\n.B pcl %s\n", commands[i].name);
		if (*commands[i].arguments) {
			roff(commands[i].arguments);
			printf("\n");
		}
	}
}

static int print_pcl(void)
{
	title("PCL", 1);
	printf(".SH NAME\npcl \\- perf_event_open(2) in user space\n");
	synopsis();
	printf(".SH DESCRIPTION\n"
	       "Runs a program, and all programs that it starts, with a perf_event_open(2) that needs no hardware "
	       "counters and\n"
	       "no privilege. Instructions and branches are counted exactly.\n"
	       "A program that has the name of one of the commands is run by\n.BI \"pcl \\-\\- \" name\\fR.\n"
	       ".SH COMMANDS\n");
	for (size_t i = 0; i < commands_nr; i++) {
		printf(".TP\n.B pcl %s\n", commands[i].name);
		roff(commands[i].help);
		printf("\n");
	}
	printf(".SH OPTIONS\nThose of pcl itself stand in front of the command or program.\n");
	rows(&options_table);
	for (size_t i = 0; i < commands_nr; i++)
		if (commands[i].table) {
			printf(".SS Options of pcl %s\n", commands[i].name);
			rows(commands[i].table);
		}
	printf(".SH EXIT STATUS\n"
	       "That of the program, also if a signal ended it, which a shell shows as 128 and the signal's number.\n"
	       "127: the program was not found. 126: it cannot be executed.\n"
	       "125: pcl itself failed, was given a wrong option, or an event that it cannot count.\n"
	       "120, of pcl check: the program ended well, but there is a regression.\n"
	       ".SH EXAMPLES\n.nf\n"
	       "pcl count \\-\\- ls /\n"
	       "pcl count \\-e instructions,branches \\-r 5 \\-\\-json \\-o counts.json \\-\\- xz \\-9kc file\n"
	       "pcl check \\-\\-baseline=counts.json \\-\\-name=compress \\-\\-update \\-\\- xz \\-9kc file\n"
	       "pcl check \\-\\-baseline=counts.json \\-\\-name=compress \\-\\- xz \\-9kc file\n"
	       "pcl count \\-\\-by\\-function \\-\\- xz \\-9kc file\n"
	       "pcl flame \\-o out.svg \\-\\- ./prog\n"
	       "pcl perf stat \\-e instructions:u,branches:u \\-\\- xz \\-9kc file\n"
	       "pcl perf record \\-e instructions:u \\-c 100003 \\-g \\-\\- ./prog\n"
	       ".fi\n.SH SEE ALSO\n.BR pcl\\-events (7),\n.BR perf\\-stat (1),\n.BR perf_event_open (2)\n");
	return 0;
}

static void events_of(u32 type, const char *heading)
{
	printf(".SH %s\n", heading);
	for (size_t i = 0; i < event_nr_rows; i++) {
		const struct event_row *e = &event_rows[i];

		if (e->type != type)
			continue;
		printf(".TP\n.B ");
		if (type == PERF_TYPE_RAW)
			printf("cpu/");
		roff(e->name);
		if (type == PERF_TYPE_RAW)
			printf("/");
		if (e->alias) {
			printf("\\fR, \\fB");
			roff(e->alias);
		}
		printf("\n");
		roff(e->text);
		printf(" (%s)\n", e->class);
	}
}

static int print_events(void)
{
	title("PCL\\-EVENTS", 7);
	printf(".SH NAME\npcl\\-events \\- the events that pcl counts\n"
	       ".SH DESCRIPTION\n"
	       "Each event is exact (counted one by one, the same in every run of a program that does the same),\n"
	       "modelled (computed from the instructions executed, by a documented model), or measured (read from the "
	       "host).\n"
	       "Kernel mode is invisible: all counts are of user mode.\n"
	       ".SS Grammar of \\-e\n"
	       ".TP\n.I NAME\nan event by its name\n"
	       ".TP\n.BI cpu/ NAME /\\fR,\\ \\fBcpu/event=\\fIN\\fB,umask=\\fIN\\fB,name=\\fITEXT\\fB/\nan event of "
	       "the cpu PMU\n"
	       ".TP\n.BI r HEX\nthe same by its number, pcl's or the processor's own\n"
	       "(those that are counted: pcl list)\n"
	       ".TP\n.BI syscalls:sys_enter_ NAME\na tracepoint (exact): a system call begins; the wildcards of a "
	       "shell are allowed in such names\n"
	       ".TP\n.BI syscalls:sys_exit_ NAME\nit is done\n"
	       ".TP\n.B raw_syscalls:sys_enter\nany system call begins\n"
	       ".TP\n.B raw_syscalls:sys_exit\nit is done\n"
	       ".TP\n.BI mem: ADDRESS\\fR[\\fB/\\fILENGTH\\fR][\\fB:rwx\\fR]\nhow often an address is read, written or "
	       "executed (exact)\n"
	       ".TP\n.BI { EVENT , EVENT\\fR...\\fB}\na group, which is counted together\n"
	       ".PP\nBehind an event or a group, after a colon: u user mode, k kernel mode (which is refused), D "
	       "pinned, e exclusive.\n");
	events_of(PERF_TYPE_HARDWARE, "HARDWARE EVENTS");
	events_of(PERF_TYPE_RAW, "EVENTS OF THE CPU PMU");
	events_of(PERF_TYPE_SOFTWARE, "SOFTWARE EVENTS");
	printf(".SH SEE ALSO\n.BR pcl (1),\n.BR perf\\-list (1)\n");
	return 0;
}

int manual_print(const char *page)
{
	if (!*page)
		return print_pcl();
	if (!strcmp(page, "events"))
		return print_events();
	fprintf(stderr, "pcl: wrong option --manual=%s: the form is --manual[=events]\n", page);
	return LAUNCH_FAILED;
}
