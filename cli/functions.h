/* The functions that addresses are in: of ELF files and their debug files, of the vDSO, of code that a compiler made at
 * run time. */
#ifndef CLI_FUNCTIONS_H
#define CLI_FUNCTIONS_H

#include "abi/types.h"
#include "cli/spaces.h"

#define FUNCTION_UNKNOWN "[unknown]"

/* One for each pair of names. */
struct function {
	char *name;	       /* demangled, without arguments; FUNCTION_UNKNOWN if there is no symbol */
	const char *file;      /* "[vdso]", "[jit]", FUNCTION_UNKNOWN if there is none */
	u32 number;	       /* from 0 on, in the order in which they were asked for */
	struct function *next; /* private */
};

struct functions {
	u32 nr;

	/* private */
	const struct spaces *spaces;
	struct function **bucket;
	struct functions_file *files;
	struct functions_jit *jits;
	struct functions_memo *memo;
};

/* Says so where there is no /proc, without which none has a name. */
void functions_begin(struct functions *f, const struct spaces *spaces);

/* Never NULL. */
const struct function *functions_find(struct functions *f, const struct who *who, u64 address);

/*
 * The function that a return address goes back to: that of the call in front of it, which may be the last instruction
 * of a function. `inner` is the function that returns there: what a signal interrupted is no return address.
 */
const struct function *functions_caller(struct functions *f, const struct who *who, u64 address,
					const struct function *inner);

void functions_free(struct functions *f);

#endif
