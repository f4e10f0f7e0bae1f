/*
 * RLIMIT_AS, RLIMIT_DATA and RLIMIT_FSIZE that pcl was started with. They count pcl's reservations, which are addresses
 * and not memory. For the first two the launcher makes room, and the first image (os/mm/sys_rlimit.c) sets the guest's
 * limits exactly. The last one is raised only while a file gets its size (rt/file_size.h).
 */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H

#include "os/session/arena.h"

/*
 * Raises the limits of this process; what they were goes to *c. 0, or -1: a hard limit is in the way, and the user was
 * told which one is needed.
 */
int limits_lift(struct session_config *c);

/*
 * Gives the session's memory its size, whatever the soft RLIMIT_FSIZE is. 0, or -1 after a message: a hard limit is in
 * the way.
 */
int limits_size_file(int fd, u64 size);

#endif
