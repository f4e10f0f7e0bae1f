/*
 * The descriptors of events as something to wait on, and as a source of signals.
 *
 * A descriptor is a datagram socket of the host's. Whoever is about to wait gives it an abstract name, made from its inode number, by which any
 * member of the session can send it an empty datagram. What is ready is never the socket's state but what event/ready.h
 * says; the datagram only ends the host's wait.
 *
 * O_ASYNC: a wakeup by a thread of the process that asked is a signal with the siginfo that Linux gives. One by another
 * process, or while somebody waits as well, is a datagram, for which the host sends the signal (its si_code is POLL_IN always).
 */
#ifndef OS_NOTIFY_H
#define OS_NOTIFY_H

#include "os/thread.h"

/* A new descriptor that can be waited on; -errno. */
long notify_descriptor(bool cloexec);
/* Before a wait on it: gives it its name. False: it cannot have one, and nobody will be able to wake who waits. */
bool notify_listen_event(struct thread *t, s32 fd);
/* Takes all datagrams that have arrived. */
void notify_drain(s32 fd);

/* fcntl(F_SETFL) on an event has been done by the host. */
void notify_set_async(struct thread *t, s32 fd, bool on);
/* A signal was taken that may come from an event's datagrams: makes room for the next ones. */
void notify_signal_taken(struct thread *t);

#endif
