/*
 * pcl [options] [--] program [args...]: makes a session and becomes its first guest.
 *
 * The process itself turns into the guest, so that process id, parent, terminal, job control, signals and exit status
 * are the guest's own. Only --stats keeps pcl as a parent. In a guest the command runs its program in the session that is there;
 * its options are the outer session's affair then and are not used.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/find.h"
#include "cli/launch.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/stay.h"
#include "os/arena.h"

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

static int run(const struct options *options, char **argv)
{
	struct program program;
	int status = find_program(argv[0], &program);

	if (status)
		return status;
	status = launch_session(options);
	if (status == LAUNCH_INSIDE)
		return launch_inside(&program, argv);
	if (status)
		return LAUNCH_FAILED;
	if (options->stats && stay_as_parent(print_stats))
		return LAUNCH_FAILED;
	return launch_guest(&program, argv);
}

int main(int argc, char **argv)
{
	struct options options;
	int first;

	options_defaults(&options);
	first = options_parse(argc, argv, &options);
	if (first < 0)
		return LAUNCH_FAILED;
	if (options.help || options.version) {
		if (options.help)
			options_help();
		else
			printf("pcl " PCL_VERSION "\n");
		return 0;
	}
	if (options.manual) {
		options_manual();
		return 0;
	}
	if (first == argc) {
		fprintf(stderr, "pcl: no program given (see pcl --help)\n");
		return LAUNCH_FAILED;
	}
	if (!strcmp(argv[first], "list") && strcmp(argv[first - 1], "--"))
		return list_events();
	return run(&options, argv + first);
}
