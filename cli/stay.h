/* Staying as the guest's parent, for what has to be said after its end (--stats). */
#ifndef CLI_STAY_H
#define CLI_STAY_H

/*
 * Forks. Returns in the child, which goes on as the guest with the caller's signal mask. The parent calls at_end() when the
 * child is gone and then ends as the child did; it never returns. If fork fails: -1 with a message.
 */
int stay_as_parent(void (*at_end)(void));

#endif
