/* A wait for descriptors, events among them, in several steps. */
#ifndef OS_POLL_WAIT_H
#define OS_POLL_WAIT_H

#include <asm-generic/poll.h>
#include "os/files/deadline.h"
#include "os/session/thread.h"

/* Descriptors of one call: what Linux lets a process have without more ado. */
#define POLL_MAX (1u << 20)

struct poll_wait {
	/* By the caller. */
	struct thread *t;
	struct pollfd *fds, *host; /* as the guest asks; as the host is asked: as many */
	u32 n;
	s64 deadline;
	const u64 *mask;	   /* temporary signal mask, or NULL */
	/* By poll_wait(). */
	s64 slice;		   /* how long it may block at once, or FOREVER */
	s64 far_slice;		   /* the same if the death of members has to be noticed, */
	bool far;		   /* which it has */
};

/* The count of ready ones with their revents, 0 at the deadline, -errno, or SYSCALL_AGAIN. */
long poll_wait(struct poll_wait *w);

#endif
