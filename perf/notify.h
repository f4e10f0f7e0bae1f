/*
 * The descriptors of events as something to wait on, and as a source of signals.
 *
 * A descriptor is a datagram socket of the host's. Whoever is about to wait gives it an abstract name, made from its
 * inode number, by which any member of the session can send it a datagram. What is ready is never the socket's
 * state but what event/ready.h says; the datagram only ends the host's wait.
 *
 * O_ASYNC: the host's socket has the guest's owner, signal and O_ASYNC, so a datagram is a signal too. A thread that
 * would be signalled by its own wakeup queues the signal itself instead: no one else may say POLL_HUP, and it comes
 * before the next instruction. How many signals are due, and why, is counted by event/async.h; the host's are corrected
 * when they are delivered: their si_code is POLL_IN always, and some datagrams are only for those who wait. A socket
 * holds few datagrams (net.unix.max_dgram_qlen): those that found no room are signals that the receiver queues to
 * itself when it takes the next one.
 */
#ifndef PERF_NOTIFY_H
#define PERF_NOTIFY_H

#include "os/session/thread.h"

/* A new descriptor that can be waited on; -errno. */
long notify_descriptor(bool cloexec);
/* Which file a descriptor is, among those that events have; 0: none of them, or no such descriptor. */
u64 notify_inode(u64 fd);
#endif
