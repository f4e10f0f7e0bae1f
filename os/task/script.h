/* The first line of a script: #! interpreter [one argument]. */
#ifndef OS_SCRIPT_H
#define OS_SCRIPT_H

#include "abi/types.h"

#define SCRIPT_LINE 256 /* BINPRM_BUF_SIZE */

struct script {
	const char *interp;
	const char *arg; /* NULL: none */
};

/*
 * Takes apart the first SCRIPT_LINE bytes of a file (zeroes after its end), writing terminators into them. 0, or
 * -ENOEXEC if it is no script or one that Linux does not accept either.
 */
int script_parse(char *line, struct script *out);

#endif
