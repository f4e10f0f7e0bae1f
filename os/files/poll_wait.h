/* A wait for descriptors in several steps: events are among them, or pcl's own, which seem not to be open. */
#ifndef OS_POLL_WAIT_H
#define OS_POLL_WAIT_H

#include <asm-generic/poll.h>
#include "event/ready.h"
#include "os/files/deadline.h"
#include "os/session/thread.h"

/* Descriptors of one call: what Linux lets a process have without more ado. */
#define POLL_MAX (1u << 20)

struct poll_wait {
	/* By the caller. */
	struct thread *t;
	struct pollfd *fds;	   /* as the guest asks */
	struct pollfd *host;	   /* as the host is asked: as many, */
	struct event_awaited *on;  /* and what is waited for */
	u32 n;
	s64 deadline;
	const u64 *mask;	   /* temporary signal mask, or NULL */
	/* By poll_wait(). */
	s64 slice;		   /* how long it may block at once, or FOREVER */
	s64 far_slice;		   /* the same if the death of members has to be noticed, */
	bool far;		   /* which it has */
	bool drained;		   /* it has taken news from sockets */
};

/* Room for n descriptors, all zeroes: w->n is left to the caller. False: there is no memory. */
bool poll_wait_alloc(struct poll_wait *w, u32 n);
void poll_wait_free(struct poll_wait *w, u32 n);

/* The count of ready ones with their revents, 0 at the deadline, -errno, or SYSCALL_AGAIN. */
long poll_wait(struct poll_wait *w);

#endif
