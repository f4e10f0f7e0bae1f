/* The command line of pcl: pcl [options] [--] program [args...]. The table is cli/options.def. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

struct options {
#define OPTION(kind, name, field, argument, help) int field;
#include "cli/options.def"
#undef OPTION
};

#define OPTIONS_NO_RATE (-2) /* max_sample_rate: not given */

/*
 * Parses up to the program's name. Returns the index of the first argument that is not ours (argc if there is none), or -1 after
 * a message about a wrong option. Options that are not given keep the defaults that options_defaults() set.
 */
int options_parse(int argc, char **argv, struct options *out);
void options_defaults(struct options *out);

void options_help(void);   /* to standard output */
void options_manual(void); /* the manual page in man(7) form, to standard output */

#endif
