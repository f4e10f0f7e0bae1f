/* What pcl says of itself: --help and --version. Each returns an exit status. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

int help_print(void);
int help_version(void);

#endif
