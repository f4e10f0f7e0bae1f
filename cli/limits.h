/*
 * RLIMIT_AS and RLIMIT_DATA that pcl was started with. They count pcl's reservations, which are addresses and not
 * memory: the launcher makes room for them, and the first image (os/mm/sys_rlimit.c) sets the guest's limits exactly.
 */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H

#include "os/session/arena.h"

/*
 * Raises the limits of this process; what they were goes to *c. 0, or -1: a hard limit is in the way, and the user was
 * told which one is needed.
 */
int limits_lift(struct session_config *c);

#endif
