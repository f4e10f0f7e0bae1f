/* What pcl says of itself: --help, also of one command, and --version. Each returns an exit status. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/commands.h"

int help_print(void);
int help_command(const struct command *c);
int help_version(void);

#endif
