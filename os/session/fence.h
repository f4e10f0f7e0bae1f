/*
 * Interrupting a thread of the session, of another process too: by a signal that the guest does not see.
 *
 * SIG_FENCE does what SIG_KICK does where the signal queue is full. Their handler is os/sig/signal.h's.
 */
#ifndef OS_FENCE_H
#define OS_FENCE_H

#include <asm/signal.h>
#include "abi/types.h"
#include "os/session/thread.h"

#define SIG_BIT(signo) (1ul << ((signo)-1))
#define SIG_KICK 33
#define SIG_KICK_CODE (-0x70636c) /* si_code of a kick */
#define SIG_FENCE SIGILL

/* Signals that the CPU raises. */
#define SIG_SYNC (SIG_BIT(SIGSEGV) | SIG_BIT(SIGBUS) | SIG_BIT(SIGFPE) | SIG_BIT(SIGILL) | SIG_BIT(SIGTRAP))
/* And those that the kernel raises at once: blocked they would kill. */
#define SIG_FORCED (SIG_SYNC | SIG_BIT(SIGSYS))
#define SIG_ALL_ASYNC (~SIG_FORCED)
/* Blocked in the runtime's handlers, and where it must come back: section_interrupted() may have it go on elsewhere. */
#define SIG_IN_HANDLERS (SIG_ALL_ASYNC | SIG_BIT(SIG_FENCE))

/* The part of siginfo_t that is looked into; 128 bytes in all. */
struct ksiginfo {
	s32 signo, err, code, pad;
	u64 addr; /* or pid and uid */
	u64 value;
	u8 rest[96];
};

/* Interrupts the task's thread if it is in translated code, and makes it look at the bank's `want` and the like. */
void signal_kick(struct task *task);
/*
 * section_host.fence: after FENCE_PASSED the thread executes no instruction of its guest, nor of the runtime outside a
 * handler of signals, before it has run pcl's handler for the fence, which does what it does for a kick. Works with a
 * full signal queue; the guest does not notice.
 */
enum section_fence signal_fence(u32 slot);
void signal_fence_init(void);
/* section_host.barrier; and whether it reaches this process's threads. */
void signal_barrier(void);
bool signal_barrier_reaches(void);
/* In the handler: the signal is one of these. Once for each. */
bool signal_is_kick(struct thread *t, int signo, const struct ksiginfo *info);

#endif
