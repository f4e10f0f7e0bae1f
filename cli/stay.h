/* Staying as the parent of a program, for what has to be said after its end (--stats, --why, pcl count). */
#ifndef CLI_STAY_H
#define CLI_STAY_H

#include <sys/types.h>

/*
 * Forks. Returns 0 in the child, which has the signal mask and the ignored signals that this process began with; -1
 * after a message if that fails. The parent has all signals blocked from then on and calls stay_wait(). May be called
 * again after that.
 */
pid_t stay_fork(void);

/*
 * Waits for the child's end, passes on the signals that are meant for it, and stops when it stops. Returns its wait
 * status. now_and_then, if there is one, is called some 50 times a second meanwhile.
 */
int stay_wait(pid_t child, void (*now_and_then)(void *), void *arg);

/* Ends this process as the wait status says, by the same signal if it was one, without a core file of its own. */
void stay_end_as(int status) __attribute__((noreturn));

/*
 * Forks. Returns in the child, which goes on as the guest. The parent calls at_end() when the child is gone and then
 * ends as the child did, or with pcl's own status if that is not 0; it never returns. If fork fails: -1 with a message.
 */
int stay_as_parent(int (*at_end)(void));

#endif
