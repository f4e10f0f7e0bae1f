/*
 * A process that gives up the user of its session leaves it, and goes on as a session of its own (--users=split).
 *
 * What the old session's members trust each other with (doc/security.md) is more than such a process may do: it has
 * none of the session's memory any more, and the session's events have counted it up to there. It and its descendants
 * can open events of each other.
 *
 * The process has given it up when none of its real, effective and saved user ids is the owner's of the session's
 * memory: one of these that is left would let it come back.
 *
 * Where other threads have the same memory, the process stays; those that fork and execute from it then leave.
 */
#ifndef OS_SPLIT_H
#define OS_SPLIT_H

#include "os/session/process.h"
#include "os/session/thread.h"

/* The process has given up its session's user, and splitting is what the session wants then. */
bool split_is_due(void);

/*
 * Before a system call that may do that: memory of a new session, as a descriptor in scratch numbers of pcl's own;
 * -errno. Members of the new user cannot open it otherwise than by inheriting it.
 */
struct split {
	s32 memory;
	s32 spare; /* see SPARE_FD */
};
int split_begin(struct split *s);
void split_cancel(const struct split *s);

/* By a process with one thread and memory of its own: what it has of the old session goes, and *s is used. */
void split_session(struct thread *t, const struct split *s);

/*
 * In a new program and in the child of a fork, before the guest runs: what was put off because others had the memory,
 * too.
 */
void split_slowly(struct thread *t);
static inline void split_now(struct thread *t)
{
	if (unlikely(the_process.config.split_later))
		split_slowly(t);
}

#endif
