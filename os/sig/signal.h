/*
 * Signals between the kernel, the runtime and the guest.
 *
 * Dispositions: SIG_DFL and SIG_IGN are the kernel's as the guest sets them. For a guest handler the kernel gets ours,
 * with the guest's SA_RESTART, SA_NOCLDSTOP, SA_NOCLDWAIT and SA_RESETHAND. Three groups are exceptions:
 *  1. SIGSEGV SIGBUS SIGFPE SIGILL SIGTRAP always have our handler and are never blocked in the kernel: the
 *     translator needs them. So has SIGSYS: a seccomp filter of the guest's that raises it (SECCOMP_RET_TRAP) sees
 *     pcl's own calls too. Those fail with ENOSYS, and the guest does not learn of them.
 *  2. SIG_KICK always has our handler and is never blocked, for host_kick() and perf/timer.c. It is a number that C
 *     libraries keep to themselves and never leave blocked. The guest's own use of it works.
 *  3. Signals whose default action ends the process have our handler while something is counted: it leaves translated
 *     code at an instruction boundary and then lets the kernel's default action happen, so counts stay exact.
 *
 * Taking: the host handler keeps the siginfo in struct thread and leaves all asynchronous signals blocked. A thread in
 * translated code is brought to an instruction boundary, single-stepped if need be. Delivering: ordinary C in the main
 * loop (os/sig/sigdeliver.c) builds the frame that the kernel would have built (os/sig/x86_64/sigframe.c).
 */
#ifndef OS_SIGNAL_H
#define OS_SIGNAL_H

#include <asm/signal.h>
#include "abi/types.h"
#include "os/session/fence.h"
#include "os/session/thread.h"
#include "rt/arch.h"
#include "rt/lock.h"
/*
 * struct kucontext: the kernel's ucontext, with greg[GREG_NR], stack and sigmask at their places; SIGFRAME_POPPED,
 * SIGFRAME_STACK_MIN.
 */
#include ARCH_HEADER(os/sig, frame.h)

#define SIG_NUMBERS 64
#define SIG_NEVER_BLOCKED (SIG_FORCED | SIG_BIT(SIG_KICK))
#define SIG_UNBLOCKABLE (SIG_BIT(SIGKILL) | SIG_BIT(SIGSTOP))

#define SIG_CODE_KERNEL 0x80 /* SI_KERNEL */

/* The kernel's struct sigaction. */
#define SA_RESTORER_ 0x04000000u
struct ksigaction {
	u64 handler, flags, restorer, mask;
};

struct sighand {
	u32 refs;	  /* threads, atomic */
	struct lock lock; /* RANK_SIGHAND; guards the rest */
	u32 fatal_caught; /* group 3 above is in force */
	u64 known;	  /* SIG_BITs of the signals whose action has been asked of the kernel or set */
	struct ksigaction act[SIG_NUMBERS + 1];
};

/* Once per process image, by the first thread: its mask and actions as the kernel kept them over exec. */
int signal_init(struct thread *t);
/* In a new thread or process: its alternate stack, and after clone() with clear_sighand its actions. */
void signal_thread_begin(struct thread *t, bool clear_sighand);
/* A copy for a child that does not share its parent's; NULL if memory is short. */
struct sighand *sighand_copy(struct thread *t);
void sighand_put(struct thread *t, struct sighand *sh);

struct handover;

/*
 * Before execveat: what the new image cannot ask of the kernel goes into *out, and a kick that comes late waits
 * until there is a handler again. signal_exec_failed() undoes the latter.
 */
void signal_exec_state(struct thread *t, struct handover *out);
void signal_exec_failed(struct thread *t);

/* Delivers what is deliverable; called before the guest goes on when t->attention is set. May not return. */
void signal_deliver(struct thread *t);
/* Raises a fault of the instruction at cpu->rip, as the CPU's exception would. */
void signal_fault(struct thread *t, int signo, int code, u64 addr, u64 trap_no, u64 err);
/* Something is counted from now on: group 3. */
void signal_catch_fatal(struct thread *t);
/*
 * The process ends for a reason that is settled: as in the kernel, a signal that comes now changes nothing. Whoever
 * watches its events learns of the end a moment before the kernel does, and may send one.
 */
void signal_end_begins(struct thread *t);
/* The kernel's default action of a signal, which ends the process. */
void signal_die(struct thread *t, int signo) __attribute__((noreturn));

/* Makes the kernel's blocked set that of the guest's, and the guest's `mask`. 0 or SYSCALL_AGAIN. */
long thread_set_mask(struct thread *t, u64 mask);

/* The mask in the kernel, raw: no check for signals taken. */
void signal_host_mask(u64 mask);
/* The same without that system call, by a trap: os/x86_64/start.S. */
void signal_mask_by_trap(u64 mask);

/* os/sig/sigact.c */
void sighand_get_action(struct sighand *sh, int signo, struct ksigaction *out);
/* The signals with a handler of the guest's, and those that it ignores. */
void sighand_sets(struct sighand *sh, u64 *caught, u64 *ignored);
void sighand_reset_action(struct sighand *sh, int signo); /* to SIG_DFL, after SA_RESETHAND */
/* What the default action does. */
enum signal_default { SIGDEF_TERMINATE, SIGDEF_IGNORE, SIGDEF_STOP };
enum signal_default signal_default(int signo);
static inline int sig_held_index(int signo)
{
	return signo == SIGSEGV	  ? 0
	       : signo == SIGBUS  ? 1
	       : signo == SIGFPE  ? 2
	       : signo == SIGILL  ? 3
	       : signo == SIGTRAP ? 4
	       : signo == SIGSYS  ? 5
				  : 6;
}

/* index of one of any other number that had to be given back when the kernel's queue was full */
#define SIG_HELD_BACK 7

/* os/sig/x86_64/sigframe.c */
int sigframe_init(void); /* 0, or -errno if the CPU's vector state is unsupported */
/* Builds the frame of signal `signo` on the guest's stack and enters the handler. -EFAULT: no stack. */
int sigframe_push(struct thread *t, int signo, const struct ksigaction *act, const struct taken_signal *sig);
/* 0, or -EFAULT if the frame is bad; may have changed the mask then. */
int sigframe_pop(struct thread *t);

/* os/sig/altstack.c */
#define SS_ONSTACK_ 1u
#define SS_DISABLE_ 2u
#define SS_AUTODISARM_ (1u << 31)
int sigaltstack_set(struct thread *t, u64 sp, u64 size, u32 flags, u64 guest_sp);
u32 sigaltstack_state(const struct thread *t, u64 guest_sp); /* SS_DISABLE_, SS_ONSTACK_, or 0: it is free */
bool sigaltstack_has(const struct thread *t, u64 sp);

/*
 * Installed in the kernel: os/sig/signal.c and os/x86_64/start.S. Hidden, so that their addresses are known without a
 * table.
 */
#pragma GCC visibility push(hidden)
void signal_host_handler(int signo, struct ksiginfo *info, struct kucontext *uc);
extern const char signal_entry[], signal_restorer[];
#pragma GCC visibility pop

#endif
