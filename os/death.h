/* Whether a task's thread has ended, which the kernel tells in several ways and at several moments. */
#ifndef OS_DEATH_H
#define OS_DEATH_H

#include "os/arena.h"

/* Gone or a zombie. Also in a section: opens nothing. False if the thread is another user's zombie. */
bool death_is_seen(const struct task *task);
/* The same for any user's, or its tid is another thread's now. Not in a section. */
bool death_is_certain(const struct task *task);

/* That task has told of its end. Its process may take a while to die: waits until others see it dead, but not for long. */
void death_await(u32 slot);

#endif
