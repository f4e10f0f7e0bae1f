/* Exceptions: what a handler's machine context (GREG_*, cpu/regs.h) says of one, and what it can change. */
#ifndef OS_TRAP_H
#define OS_TRAP_H

#include "os/session/thread.h"

/*
 * A step has ended: a debug exception that int1 has not raised. Not by si_code alone, which Linux takes from DR6: on a
 * virtual machine (Intel, Linux 6.18) one of millions of steps found that register empty, as it is behind int1, and
 * SIGTRAP came as TRAP_BRKPT.
 */
bool trap_is_step(const struct thread *t, const u64 *greg, s32 code);
/* A write to memory that is there and may not be written, at *addr; or a read, if the host does not tell which. */
bool trap_is_write(int signo, s32 code, const u64 *greg, gva *addr);

/* Notes in the thread what signal frames show of the exception; the same of one that is not the processor's. */
void trap_note(struct thread *t, const u64 *greg);
void trap_set(struct thread *t, u64 trap_no, u64 err, u64 addr);

/* After the handler the processor executes one instruction and traps; that was this trap. */
void trap_step(struct thread *t, u64 *greg);
void trap_stepped(struct thread *t, u64 *greg);
/* Another one came in its place. */
void trap_step_ends(struct thread *t, u64 *greg);

/*
 * True: it was in the window in front of the system call (syscall_window()), and goes on behind the call, which was not
 * made.
 */
bool trap_abort_window(struct thread *t, u64 *greg);
/* True: it is the exception of signal_mask_by_trap(), and goes on behind it. */
bool trap_is_of_mask(u64 *greg);

/*
 * True: the guest has made the processor's counter fault (PR_SET_TSC), and the runtime, or the kernel's vDSO for it,
 * has read it all the same. The registers are then as if it had not faulted.
 */
bool trap_is_of_counter(u64 *greg);

void trap_dump(const u64 *greg);

/* Raises SIGSEGV, SIGILL, SIGTRAP or SIGFPE by an instruction; returns if it is blocked or none of these. */
void trap_raise(int signo);

#endif
