/*
 * The kernel writes where a system call's arguments lead. Pages with code are protected (dbt/guest_code.h): there it
 * would give EFAULT, and what the call has taken by then (a datagram, a signal, a child that has ended) would be lost,
 * so that doing the call again comes too late. So these pages are made writable before the call.
 *
 * A page that another thread executes code from at that moment may be protected again before the kernel is there.
 */
#ifndef OS_KERNEL_WRITES_H
#define OS_KERNEL_WRITES_H

#include "os/session/thread.h"

/* For the call t->nr: `pointers` has a bit for each argument that may lead there, `formats` is its row's. */
void kernel_writes_prepare(const struct thread *t, const u64 *args, u32 pointers, const char *formats);

/* At the end of the thread: the word of CLONE_CHILD_CLEARTID, and the futexes of its robust list. */
void kernel_writes_prepare_end(const struct thread *t);

#endif
