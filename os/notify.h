/*
 * The descriptors of events as something to wait on, and as a source of signals.
 *
 * A descriptor is a datagram socket of the host's. Whoever is about to wait gives it an abstract name, made from its inode number, by which any
 * member of the session can send it an empty datagram. What is ready is never the socket's state but what event/ready.h
 * says; the datagram only ends the host's wait.
 *
 * O_ASYNC: the host's socket has the guest's owner, signal and O_ASYNC, so a datagram is a signal too. A thread that would be signalled
 * by its own wakeup queues the signal itself instead: no one else may say POLL_HUP, and datagrams that are not taken are soon too many. The
 * host's signals are corrected when they are delivered: their si_code is POLL_IN always, and some datagrams are only for those who wait.
 */
#ifndef OS_NOTIFY_H
#define OS_NOTIFY_H

#include "os/thread.h"

/* For how many ns a wait may block if nobody can wake it; and if it has to notice the death of members, at first and each time after. */
#define NOTIFY_DEAF_SLICE 10000000l
#define NOTIFY_FAR_SLICE 50000000l
static inline s64 notify_next_slice(s64 slice)
{
	return MIN(2 * slice, 16 * NOTIFY_FAR_SLICE);
}

/* A new descriptor that can be waited on; -errno. */
long notify_descriptor(bool cloexec);
/* Before a wait on it: gives it its name. False: it cannot have one, and nobody will be able to wake who waits. */
bool notify_listen_event(struct thread *t, s32 fd);
/* Takes all datagrams that have arrived. */
void notify_drain(s32 fd);

/* fcntl(F_SETFL) or ioctl(FIOASYNC) on an event has been done by the host. */
void notify_set_async(struct thread *t, s32 fd, bool on);
/* So has fcntl(F_SETOWN), F_SETOWN_EX or F_SETSIG. */
void notify_set_owner(struct thread *t, s32 fd);
/*
 * A signal is about to be delivered: if it is of an event, makes room for the next datagrams, and corrects its siginfo. False: it is
 * not meant for the guest.
 */
bool notify_signal_taken(struct thread *t, struct taken_signal *sig);
/* A signal with this siginfo is of a descriptor, which si_fd names. */
struct ksiginfo;
bool notify_names_descriptor(const struct ksiginfo *info);

#endif
