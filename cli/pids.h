/*
 * --pin=pids: the session runs in a pid namespace of its own, where numbers are given from 1 on, in order.
 *
 *   pcl        stays outside, as the parent of the first guest: passes on signals, stops with it, ends as it does
 *   1          an init: reaps whom nobody waits for, and ends when nobody is left. Daemons outlive pcl so, as natively.
 *              If pcl is killed, it kills the first guest, or all if that is no program but pcl itself. It alone has
 *              the right to say which number is next
 *   2          the first guest, with a mount namespace for a /proc of its own
 *
 * Who has not CAP_SYS_ADMIN needs a user namespace for that. It has the user and the group alone: files of all others
 * seem to be nobody's.
 */
#ifndef CLI_PIDS_H
#define CLI_PIDS_H

#include "abi/types.h"

enum pids_way {
	PIDS_REFUSED,
	PIDS_PLAIN,
	PIDS_BY_USER, /* in a user namespace */
};

/* How it can be done here. why: what refused it, and errno. */
enum pids_way pids_try(const char **why);

/*
 * Does it: 0 in a child, which is number 2; its parent stays, and never returns. Or -1, and nothing has happened.
 * `why` and errno are as before. staying: that child will not be the program, but a parent of it.
 */
int pids_begin(bool staying, const char **why);

/*
 * In a guest that runs one program after another: the next process has the number behind the caller's, if that is free,
 * as the first one had. Nothing happens without --pin=pids, nor where the kernel lets nobody choose numbers.
 */
void pids_begin_again(void);

#endif
