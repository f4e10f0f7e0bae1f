/* pcl --probe: what this processor does well, and which forms of translated code that makes pcl choose. */
#ifndef CLI_FORMS_H
#define CLI_FORMS_H

#include "cli/options.h"

/* Measures and prints. Returns the exit status. */
int forms_print(void);

/* 0, or the exit status: a form was asked for that this processor does not have. */
int forms_check(const struct options *o);

#endif
