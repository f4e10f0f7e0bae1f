/* Whether a task's thread has ended, which the kernel tells in several ways and at several moments. */
#ifndef OS_DEATH_H
#define OS_DEATH_H

#include "event/space.h"
#include "os/session/arena.h"
#include "os/session/thread.h"

/* Gone or a zombie. Also in a section: opens nothing. False if the thread is another user's zombie. */
bool death_is_seen(const struct task *task);
/* The same for any user's, or its tid is another thread's now. Not in a section. */
bool death_is_certain(const struct task *task);

/*
 * Tasks whose process died by a signal, and that nobody has waited for, still have descriptors of events that others
 * have closed (event.left). They are ended here. At such a close: also those that are about to die, for which it
 * waits, but not for long. Later: only now and then. Not in a section.
 */
void death_of_holders_at_close(struct thread *t);
void death_of_holders_slowly(struct thread *t);
static inline void death_of_holders(struct thread *t)
{
	if (unlikely(event_space->left))
		death_of_holders_slowly(t);
}

/*
 * That task has told of its end. Its process may take a while to die: waits until others see it dead, but not for long.
 */
void death_await(u32 slot);

#endif
