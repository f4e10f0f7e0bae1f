/* Files for results: what is in one stays until there is something to put there. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdio.h>

/* For writing, "-" is standard output. NULL, with errno: it cannot be had. */
FILE *output_open(const char *path);

/* What was in it goes. Before the first byte is written. */
void output_begin(FILE *f);

#endif
