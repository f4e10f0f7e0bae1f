/* pcl flame: draws what a program does as a picture of its call stacks, by samples at a fixed period. */
#ifndef CLI_FLAME_H
#define CLI_FLAME_H

#include "cli/options.h"

struct flame_options {
#define OPTION(kind, letter, name, field, argument, help) OPTION_FIELD(kind, field)
#include "cli/flame.def"
#undef OPTION
};

extern const struct option_table flame_table;

/* argv[0] is "flame". Returns an exit status. */
int flame_main(int argc, char **argv);

#endif
