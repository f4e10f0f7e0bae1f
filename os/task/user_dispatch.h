/*
 * Syscall user dispatch (prctl(2), PR_SET_SYSCALL_USER_DISPATCH): system calls of foreign code, as Wine runs it, raise
 * SIGSYS. The kernel does not know what code of the guest a call of the runtime is made for, so it is done here.
 */
#ifndef OS_USER_DISPATCH_H
#define OS_USER_DISPATCH_H

#include "os/session/thread.h"

/* prctl's arguments behind the option: mode, begin and length of the range, address of the selector. */
long user_dispatch_set(struct thread *t, u64 mode, u64 begin, u64 length, gva selector);

/*
 * The system call at hand, whose instruction ends at cpu->rip, raises SIGSYS instead: that is pending then. Only if
 * t->dispatch.on.
 */
bool user_dispatch_takes(struct thread *t);

#endif
