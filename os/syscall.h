/*
 * System calls of the guest: the dispatcher over os/x86_64/syscalls.def, and the handlers' prototypes.
 *
 * A handler gets the six argument registers and returns the kernel's value or -errno (refuse() keeps a reason), or
 * SYSCALL_AGAIN as it came from thread_syscall().
 */
#ifndef OS_SYSCALL_H
#define OS_SYSCALL_H

#include "os/session/thread.h"
#include "rt/arch.h"

#define pass syscall_pass
#define SYSCALL(nr, name, handler, level, formats) long handler(struct thread *t, const u64 *a);
#include ARCH_HEADER(os, syscalls.def)
#undef SYSCALL
#undef pass

/* Executes the call as it is. */
long syscall_pass(struct thread *t, const u64 *a);

/* As in os/x86_64/syscalls.def; NULL: the table has none. */
const char *syscall_name(u64 nr), *syscall_formats(u64 nr);

/* Serves the call that the thread's registers ask for (DBT_SYSCALL). */
void syscall_dispatch(struct thread *t);

/*
 * The call in a way that signals can interrupt: -EINTR or SYSCALL_AGAIN without that it was made, if *attention is set
 * before the instruction at window_enter is executed. It is between window_begin and window_end; window_abort is where
 * it goes on if a handler finds it in front of the instruction (trap_abort_window()).
 */
long syscall_window(const u64 *args, long nr, const u32 *attention);
#pragma GCC visibility push(hidden)
extern const char window_begin[], window_enter[], window_end[], window_abort[];
#pragma GCC visibility pop

#endif
