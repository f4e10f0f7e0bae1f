/*
 * pcl [options] [--] program [args...]: makes a session and becomes its first guest. pcl COMMAND ...: see
 * cli/commands.def.
 *
 * The process itself turns into the guest, so that process id, parent, terminal, job control, signals and exit status
 * are the guest's own. Only --stats, --why and --pin=pids keep pcl as a parent. In a guest the command runs its program
 * in the session that is there; its options are the outer session's affair then and are not used.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/find.h"
#include "cli/flame.h"
#include "cli/forms.h"
#include "cli/help.h"
#include "cli/launch.h"
#include "cli/manual.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/pin.h"
#include "cli/processor.h"
#include "cli/stay.h"
#include "cli/why.h"
#include "os/session/arena.h"

static void print_stats(void)
{
	char text[4096];
	struct stats sum = {0};
	size_t n;

	stats_sum(&sum, &arena()->stats);
	for (u32 slot = 0; slot < arena()->tasks_high; slot++)
		stats_sum(&sum, &arena()->task_stats[slot]);
	n = stats_print(text, sizeof(text), &sum);
	fprintf(stderr, "pcl: statistics of the session\n%.*s", (int)n, text);
}

static const struct options *the_options;

/* 0, or -1: not all of it could be written. */
static int at_end(void)
{
	if (the_options->stats)
		print_stats();
	return the_options->why ? why_print() : 0;
}

/*
 * The session is there; what has to be said after its end needs a parent that stays. Returns 0, in what is to become
 * the guest, or -1.
 */
static int stay_if_asked(const struct options *o)
{
	the_options = o;
	if (o->why && why_open(o->why))
		return -1;
	return o->stats || o->why ? stay_as_parent(at_end) : 0;
}

/* After the message that there is no program of this name. */
static void name_nearest_command(const char *word)
{
	struct nearest nearest = {.word = word};

	for (size_t i = 0; i < commands_nr; i++)
		nearest_try(&nearest, commands[i].name);
	if (nearest.best)
		fprintf(stderr, "pcl: is pcl %s meant?\n", nearest.best);
}

static int run(const struct options *options, char **argv)
{
	static struct program program;
	int status = find_program(argv[0], &program);

	if (status == FIND_NOT_FOUND)
		name_nearest_command(argv[0]);
	if (status)
		return status;
	status = launch_session(options, false);
	if (status == LAUNCH_INSIDE)
		return launch_inside(&program, argv);
	if (status)
		return LAUNCH_FAILED;
	if (stay_if_asked(options))
		return LAUNCH_FAILED;
	pin_environment();
	return launch_guest(&program, argv);
}

/*
 * A command that opens events is a client of pcl like any other, so it has to be a guest: what is none yet makes a
 * session in which it is run again with the same arguments.
 */
static int as_guest(const struct command *command, const struct options *options, int argc, char **argv, int first)
{
	static struct program self;
	int status = launch_session(options, true);

	if (status == LAUNCH_INSIDE)
		return command->run(argc - first, argv + first);
	if (status || find_self(&self))
		return LAUNCH_FAILED;
	if (stay_if_asked(options))
		return LAUNCH_FAILED;
	arena()->refusals.speaker = (s32)getpid();
	return launch_guest(&self, argv);
}

/* The command that the first word behind the options names. NULL: it is a program. */
static const struct command *find_command(const char *word)
{
	for (size_t i = 0; i < commands_nr; i++)
		if (!strcmp(word, commands[i].name))
			return &commands[i];
	return NULL;
}

/* The status of what has printed to standard output, if all of that was written. */
static int printed(int status)
{
	bool failed = ferror(stdout);

	errno = EIO;
	if (failed)
		putchar('\n'); /* gives the reason once more */
	if (!fflush(stdout) && !failed)
		return status;
	fprintf(stderr, "pcl: cannot write: %s\n", strerror(errno));
	return LAUNCH_FAILED;
}

/* What an option prints instead of running a program. -1: none of them is given. */
static int print_asked(const struct options *o)
{
	if (o->help)
		return help_print();
	if (o->version)
		return help_version();
	if (o->manual)
		return manual_print(o->manual);
	if (o->completion)
		return completion_print(o->completion);
	if (o->probe)
		return forms_print();
	return o->pin && !strcmp(o->pin, "help") ? pin_help() : -1;
}

/*
 * A file of pcl's own must not get the number of a standard one that is closed: messages would go there. What takes the
 * number can be neither read nor written, as a closed one, and programs that are executed find it closed.
 */
static void keep_closed(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_CLOEXEC) != fd)
			return; /* there is no room */
}

int main(int argc, char **argv)
{
	struct options options;
	const struct command *command = NULL;
	int first, status;

	keep_closed();
	first = options_parse(argc, argv, &options);
	if (first < 0)
		return LAUNCH_FAILED;
	status = print_asked(&options);
	if (status >= 0)
		return printed(status);
	if (first == argc) {
		fprintf(stderr, "pcl: no program given (see pcl --help)\n");
		return LAUNCH_FAILED;
	}
	if (pin_choose(&options) || processor_choose(options.processor) || forms_check(&options))
		return LAUNCH_FAILED;
	if (strcmp(argv[first - 1], "--"))
		command = find_command(argv[first]);
	if (!command)
		return run(&options, argv + first);
	if (first + 1 < argc && (!strcmp(argv[first + 1], "--help") || !strcmp(argv[first + 1], "-h")))
		return printed(help_command(command));
	if (command->run == flame_main)
		options.call_stacks = 1;
	if (command->is_client)
		return as_guest(command, &options, argc, argv, first);
	return printed(command->run(argc - first, argv + first));
}
