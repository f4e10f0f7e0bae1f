/* Making a session and becoming its first guest. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "cli/find.h"
#include "cli/options.h"
#include "rt/status.h"

#define LAUNCH_FAILED PCL_FAILED

/*
 * Makes the arena and places the two descriptors that stay hidden from guests. Returns 0, -1 after a message, or
 * LAUNCH_INSIDE if this process is itself a guest: then its program joins the session that it is in. With --pin=pids it
 * returns in a child (cli/pids.h). is_command: it is made for a command of pcl's, not for a program.
 */
#define LAUNCH_INSIDE 1
int launch_session(const struct options *options, bool is_command);

/* This process is a guest. */
bool launch_is_inside(void);

/*
 * The calling process becomes the guest: same process, same parent, descriptors, signal mask and terminal. argv is the
 * guest's own. launch_inside() does it for a process that is a guest already. They return only if that fails, with an
 * exit status, after a message.
 */
int launch_guest(const struct program *program, char **argv);
int launch_inside(const struct program *program, char **argv);

#endif
