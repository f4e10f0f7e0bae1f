/* --pin, --cpu and --keep-env: what is held still, and what of that is done before the first program begins. */
#ifndef CLI_PIN_H
#define CLI_PIN_H

#include "abi/types.h"
#include "cli/options.h"

struct pin_choice {
	u32 items;     /* bit per row of os/session/pin.def */
	u32 level;     /* enum isa_level, 0: the host's processor */
	u32 signature; /* of that level's processor, as eax of CPUID's leaf 1 */
	u32 cpu;       /* all runs on that one, if it is held still */
	bool virtual;  /* time is: code is translated in another way then */
};

/* By the options. Once, before the other functions. 0, or -1 after a message about a wrong one. */
int pin_choose(const struct options *o);
const struct pin_choice *pin_chosen(void);

/* Prints the items; an exit status. */
int pin_help(void);

/*
 * Before the session begins: its CPU and its process numbers become what they are to be. 0, or -1 after a message. For
 * the numbers this process forks and stays as the parent; then it returns in the child. staying: the child will stay as
 * a parent of the program, too.
 */
int pin_begin(bool staying);

/* Before a program is executed, which is not pcl itself: likewise its environment. */
void pin_environment(void);

#endif
