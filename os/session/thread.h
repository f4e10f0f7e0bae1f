/*
 * One guest thread, private to its memory: struct thread with the runtime's stacks, at LAYOUT_THREADS + n *
 * THREAD_AREA.
 *
 *   area:  [guard][runtime stack][guard][alternate signal stack][kept stack][xsave buffer][struct thread][struct
 *          cpu][bank][touched pages][an execve]
 *
 * Both stacks are in one aligned THREAD_AREA, so C code on either, signal handlers included, finds its thread from
 * the stack pointer, never from a guest register. Written by its own thread and by that thread's signal handlers only,
 * except where a field says otherwise.
 */
#ifndef OS_THREAD_H
#define OS_THREAD_H

#include <linux/rseq.h>
#include "abi/types.h"
#include "cpu/cpu.h"
#include "os/session/arena.h"
#include "os/session/facts.h"
#include "os/session/pin.h"
#include "rt/arch.h"
#include "rt/layout.h"
#include "rt/lock.h"
#include "rt/refuse.h"
#include "rt/section.h"

#define THREAD_AREA 0x100000ul
#define THREAD_RT_STACK 0x1000ul  /* offsets in the area */
#define THREAD_RT_TOP 0x21000ul
#define THREAD_ALT_STACK 0x22000ul
#define THREAD_ALT_TOP 0x33000ul
#define THREAD_KEPT 0x33000ul	  /* SECTION_STACK bytes: the runtime stack as it was when a section began */
#define THREAD_XSAVE 0x3b000ul	  /* 16 KiB, for vector state on its way to and from signal frames */
#define THREAD_XSAVE_SIZE 0x4000ul
#define THREAD_STRUCT 0x3f000ul
/* shared: struct bank of its task slot; struct cpu ends in front of it */
#define THREAD_BANK 0x43000ul
#define THREAD_EXEC (THREAD_BANK + CPU_BANK_SIZE + sizeof(struct cpu_touched)) /* what os/task/exec.c needs */
#define THREAD_EXEC_SIZE 0x10000ul
#define THREAD_END (THREAD_EXEC + THREAD_EXEC_SIZE)

struct sighand; /* os/sig/sigact.c: the guest's signal actions, shared under CLONE_SIGHAND */
struct process; /* os/session/process.h: what threads with the same memory share */
struct breakpoints; /* perf/breakpoints.c */
struct uprobe_returns; /* perf/uprobe_returns.c */
struct sampler; /* perf/snapshot.c */
struct group;	/* os/session/process.h: what the threads of one thread group share */

/* The result of a system call that must not seem to have happened: the thread goes back to its syscall instruction. */
#define SYSCALL_AGAIN (-513)

enum thread_state { THREAD_FREE, THREAD_RUNNING, THREAD_EXITED /* gone from the kernel once its tid is */ };

enum clock_state { CLOCK_OFF, CLOCK_RUNNING, CLOCK_PAUSED };

/* A clock limit may have been reached: by the guest's instructions, or while the kernel served a system call. */
enum clock_fired { CLOCK_NOT_FIRED, CLOCK_FIRED, CLOCK_FIRED_IN_CALL };

/* A signal that was taken from the kernel and is not delivered yet. */
struct taken_signal {
	s32 signo; /* 0: none */
	u8 info[128];
};

/* A system call that was served. */
struct thread_call {
	u64 nr, args[3];
	s64 ret; /* 0 while it is */
};

/* A restartable sequence (os/sig/rseq.h). All zero: nothing is registered. */
struct rseq_state {
	gva area; /* the guest's struct rseq */
	u32 sig;
	u32 armed; /* it is in this section, and area's rseq_cs is &host until the kernel clears it: */
	u32 slow;  /* a section is executed one instruction at a time, up to its end or a fault */
	gva desc;  /* the guest's descriptor, */
	struct rseq_cs guest; /* and what is in it */
	struct rseq_cs host;
};

#define THREAD_CALLS 16u /* a power of 2 */

struct thread {
	struct cpu *cpu;      /* == thread_cpu(); NULL: it has no task slot yet */
	struct task *task;    /* its slot in the arena */
	struct sighand *sighand;
	struct process *proc;
	struct group *group;
	s32 pid, tid;		/* in its own pid namespace */
	s32 host_pid, host_tid; /* in the launcher's, see os/session/pidns.h */
	u64 clone_flags;      /* that it was made with */
	struct {
		u64 flags;    /* of the clone that made it, or that it makes */
		gva sp;	      /* and its parent's stack pointer then */
	} made;
	u32 state;	      /* enum thread_state; under proc->threads_lock */
	s32 own_work;	      /* how deep it is in work of pcl's own, see os/session/own_faults.h */
	struct thread *next;  /* in proc->threads or proc->exited; under proc->threads_lock */

	/* Signals; see os/sig/signal.c. */
	u64 sigmask;	      /* the guest's blocked set; the host's is this without SIG_NEVER_BLOCKED */
	u64 call_mask;	      /* the guest's set while a pselect6, ppoll, sigsuspend, ... waits */
	u32 call_mask_on;
	u32 attention;	      /* a signal may be deliverable: the loop looks first, the window aborts */
	struct {
		u64 sp, size;
		u32 flags;
	} altstack;	      /* the guest's */
	struct taken_signal fault;   /* raised by the instruction at cpu->rip */
	struct taken_signal pending; /* asynchronous; the host mask blocks all others until it is delivered */
	/* asynchronous ones of SIG_NEVER_BLOCKED that the guest blocks, by sig_held_index(); SIG_HELD_BACK */
	struct taken_signal held[8];
	u64 trap_no, trap_err, trap_cr2; /* what the last fault was, as signal frames show it */
	struct {
		s32 signo, code;
	} copy_fault;	      /* of the last access by rt/guest.h that faulted */
	u32 host_blocked;     /* the host mask blocks all asynchronous signals until signal_deliver() sets it again */
	u32 executing;	      /* in execveat; stays set in the memory that a successful one leaves behind */
	u32 stepping;	      /* the trap flag is ours: on the way to an instruction boundary */
	u32 stepped_pushf;    /* the instruction being stepped pushes flags */
	u32 stepped_int3;     /* it is int3 */
	u32 no_cpuid;	      /* ARCH_SET_CPUID: the guest's cpuid faults; inherited by clone and fork */
	u32 no_tsc;	      /* PR_SET_TSC: so does rdtsc, likewise */

	/* The handler of a signal of events that it is in, see os/sig/sigtime.h; the outermost. */
	struct {
		u32 cause;	  /* the task that is charged, 0: it is in none */
		u64 begin, since; /* task clock and perf clock when its delivery began */
		/*
		 * the stack pointer that it began with, and the lowest of that stack; frame 0: not entered yet, or left
		 */
		u64 frame, stack;
	} sigtime;

	/* The system call being served. */
	u64 nr, args[6];
	struct {
		u64 begin, length; /* calls from there are not dispatched */
		gva selector;
		u32 on;
	} dispatch;	      /* see os/task/user_dispatch.h; not inherited */
	struct refusal refusal;
	u64 again_rax;	      /* with SYSCALL_AGAIN: rax that the guest is to see at its syscall instruction */
	u32 again_entered;    /* with SYSCALL_AGAIN: the kernel was entered, the instruction counts */
	u32 kicked;	      /* the call ended with EINTR only because of host_kick() */
	u32 regs_replaced;    /* the handler has set all registers (rt_sigreturn): leave rax, rcx and r11 alone */
	struct {
		u64 voluntary, involuntary; /* the host's counts when they were looked at last */
		u64 recorded;	    /* when that was: perf clock */
		u32 known;
	} switches;	      /* see perf_switches() */
	struct lock_holder locks;
	struct stats *stats;  /* in the arena */
	struct section section; /* changes of the session's memory, see rt/section.h */
	struct thread_call call[THREAD_CALLS]; /* a ring, the next is calls_done % THREAD_CALLS: see os/dump.h */
	u32 calls_done;
	u64 scratch[8];	      /* arguments in runtime memory for the kernel */
	u32 is_apart;	      /* the code that runs is a helper thread's, see os/session/apart.h */
	u32 has_left;	      /* it ends, and has left the guest's descriptor table; see apart_leave() */
	s32 left_fd;	      /* the first of pcl's own in the table that it has then */
	struct facts facts;   /* see os/session/facts.h */
	u64 cgroup_looked;    /* perf clock when it was last seen where it is among cgroups: perf/cgroup.h */

	struct rseq_state rseq;
	gva clear_tid;	       /* where the kernel clears its number when it ends, 0: nowhere */

	/* Sampling; see perf/sampling.h and perf/timer.h. */
	struct breakpoints *breakpoints; /* NULL: none */
	struct uprobe_returns *returns;	 /* calls whose return is probed; NULL: none yet */
	struct sampler *sampler; /* buffers, NULL until they are needed */
	struct cpu_call *calls;	 /* == cpu->calls */
	s32 timer[2];	      /* 1 + ids of the clock timers, 0: none; [1] is the coarse one */
	u32 clock_coarse;     /* which one is in use */
	u64 timer_serial;     /* the section that was left to make one */
	u32 clock_state;      /* enum clock_state */
	u32 clock_fired;      /* enum clock_fired */
	struct {
		u64 rip, rsp;
	/* the system call whose entry perf/tracepoints.c has told, and that was not made; rip 0: none */
	} put_off;
	u32 serving;	      /* the guest's call `nr` is being served */
	u32 trapped;	      /* a seccomp filter of the guest's raised SIGSYS for it; fault.info says more */
	/* death_of_holders_slowly(): when it looks again, 0: never looked; and the time between */
	u64 holders_next;
	s64 holders_slice;
	/* in seccomp's strict mode: read, write, rt_sigreturn and exit are all that it may call */
	u32 strict;
	u32 trap_later;	      /* a SIGTRAP of attr.sigtrap is held until the system call under way is done */
	u64 clock_end;	      /* host_clock_perf() when it is reached if the thread always has a CPU */
	struct pin_thread pin; /* see os/pin/pin.h */
	struct {
		u32 counting;
		struct fault_count {
			u64 guest[2]; /* page faults, minor and major */
			u64 host;     /* the kernel's count: what others cannot write to */
		} count;	      /* when the system call began */
		/* perf/faults.c asked the host for that page, for an instruction to come: its address + 1, 0 none */
		gva asked;
		u32 asked_changes, was_present;
	} faults;		      /* see perf/faults.h */
	struct turn turn;      /* see os/pin/turn.h */
	u64 clock_due;	      /* when the timer that runs fires, ~0: none does */
};

/* The thread whose runtime or alternate stack this code runs on; NULL on the stack that the kernel made for exec. */
static inline struct thread *thread_current(void)
{
	u64 sp = arch_stack_pointer();

	if (sp < LAYOUT_THREADS || sp >= LAYOUT_DBT)
		return NULL;
	return (struct thread *)(ALIGN_DOWN(sp, THREAD_AREA) + THREAD_STRUCT);
}

/* The same on one of those stacks for sure. */
static inline struct thread *thread_own(void)
{
	return (struct thread *)(ALIGN_DOWN(arch_stack_pointer(), THREAD_AREA) + THREAD_STRUCT);
}

static inline u64 thread_area(const struct thread *t)
{
	return ALIGN_DOWN((u64)t, THREAD_AREA);
}

static inline struct cpu *thread_cpu(const struct thread *t)
{
	return (struct cpu *)(thread_area(t) + THREAD_BANK) - 1;
}

/*
 * Executes a system call for the guest. Every call that may block, or whose effect must not happen after a signal was
 * taken, goes through here: returns the kernel's result, or SYSCALL_AGAIN if a signal has to be delivered
 * first (pass it on). Memory that the translator protects does not give EFAULT.
 */
long thread_syscall(struct thread *t, long nr, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5);

/*
 * By os/sig/: a call that a signal has interrupted is begun again after its handler; and a signal with that number,
 * sent to the thread or its process, would interrupt the thread or end it.
 */
bool thread_signal_restarts(struct thread *t);
bool thread_signal_arrives(const struct thread *t, s32 signo);

/*
 * Makes all other threads of the group leave translated code at a boundary and wait, for at most about 50 ms, so that
 * their counts are final before the kernel ends them. Does nothing unless something is counted. resume undoes it.
 */
void group_quiesce(struct thread *t);

/* The same in any case. False: another one may be in translated code, or a process that shares the memory. */
bool group_stop(struct thread *t);
void group_resume(struct thread *t);

/* Where threads wait between quiesce and resume. */
void group_wait(struct thread *t);

/*
 * Maps the task's bank behind the thread's struct cpu, in place of another task's or of none. 0 or -errno. In the child
 * of a fork, before anything is counted: what is there is its parent's.
 */
int thread_map_bank(struct thread *t, const struct task *task);

/*
 * From here on the thread's sections are those of task slot `slot`. Its handlers are installed, and SIG_KICK is not
 * blocked.
 */
void thread_use_slot(struct thread *t, u32 slot);

/* Ends the kernel thread without using any stack. */
void thread_leave(s32 status) __attribute__((noreturn));

/* It executes nothing any more. Asks the kernel, if it is a process other than the caller's. */
bool thread_is_gone(const struct thread *t);
/* Another process with the same memory has a running thread. */
bool thread_any_of_other_group(const struct thread *own);
/*
 * One of such a process that is gone, and that nobody waits for as for a child of vfork: it is the caller's to retire.
 * NULL: there is none.
 */
struct thread *thread_list_take_gone(const struct thread *own);
/* For rt/lock.h. */
struct lock_holder *thread_holds_locks(void);
bool thread_name_is_gone(u32 name);

/* Allocates an area with its mappings and an empty struct thread; NULL if memory is short. */
struct thread *thread_alloc(struct process *proc);
/* Enters it into the list of running threads. */
void thread_list_add(struct thread *t);
/* Its area may be used again once kernel thread `tid` is gone; 0: at once. */
void thread_list_retire(struct thread *t, s32 tid);
/* Their lock was taken over from somebody who died with it. */
void thread_list_mend(void);
/* After fork in the child: all others do not exist here. */
void thread_list_keep_only(struct thread *t);

#endif
