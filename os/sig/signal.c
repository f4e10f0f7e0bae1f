/*
 * The runtime's handlers in the kernel: what happens at the moment when a signal interrupts the host thread.
 *
 * Where it can be: in translated code (the guest's registers are in the host's), in the system-call window
 * (os/x86_64/start.S), or anywhere else in the runtime. Runs on the thread's alternate stack with all asynchronous
 * signals blocked; takes no locks except in translated code, where none is held (dbt_write_fault()).
 */
#include <asm/errno.h>
#include <asm/siginfo.h>
#include "dbt/dbt.h"
#include "os/session/process.h"
#include "os/sig/rseq.h"
#include "os/sig/signal.h"
#include "rt/guest.h"
#include "rt/log.h"
#include "rt/string.h"
#include "rt/sys.h"

#define TRAP_FLAG	   0x100ul
#define PAGE_FAULT_WRITE   2u
#define TRAP_NO_PAGE_FAULT 14
#define CODE_TRAP_TRACE	   2
#define CODE_SYS_SECCOMP   1

#pragma GCC visibility push(hidden)
extern const char window_begin[], window_enter[], window_end[], window_abort[]; /* os/x86_64/start.S */
#pragma GCC visibility pop

/* Blocks asynchronous signals after the handler's return, until signal_deliver() sets the guest's mask again. */
static void hold_signals(struct thread *t, struct kucontext *uc)
{
	uc->sigmask = SIG_ALL_ASYNC;
	t->host_blocked = 1;
	t->attention = 1;
	t->cpu->pending = 1;
}

static void step(struct thread *t, struct kucontext *uc)
{
	const u8 *code = (const u8 *)uc->greg[GREG_RIP];

	if (*code == 0x66)
		code++;
	t->stepped_pushf = *code == 0x9c;
	t->stepping = 1;
	uc->greg[GREG_EFL] |= TRAP_FLAG;
	hold_signals(t, uc);
}

/* Brings a thread that is in translated code to an instruction boundary and out. */
static void leave_cache(struct thread *t, struct kucontext *uc)
{
	struct cpu out;

	switch (dbt_locate(t->cpu, uc->greg, &out)) {
	case DBT_AT_RUNTIME:
		break;
	case DBT_AT_BOUNDARY:
		dbt_leave(t->cpu, uc->greg);
		break;
	case DBT_AT_INSIDE:
		step(t, uc);
		break;
	}
}

static void stepped(struct thread *t, struct kucontext *uc)
{
	uc->greg[GREG_EFL] &= ~TRAP_FLAG;
	t->stepping = 0;
	if (t->stepped_pushf)
		*(u16 *)uc->greg[GREG_RSP] &= (u16)~TRAP_FLAG;
	leave_cache(t, uc);
}

static void dump_registers(int signo, const struct ksiginfo *info, const u64 *g)
{
	log_printf(0, "signal %d (code %d, address %#lx) in the runtime at %#lx, error %#lx", signo, info->code,
		   info->addr, g[GREG_RIP], g[GREG_ERR]);
	log_printf(0, "rax %lx rcx %lx rdx %lx rbx %lx rsp %lx rbp %lx rsi %lx rdi %lx", g[GREG_RAX], g[GREG_RCX],
		   g[GREG_RDX], g[GREG_RBX], g[GREG_RSP], g[GREG_RBP], g[GREG_RSI], g[GREG_RDI]);
	log_printf(0, "r8 %lx r9 %lx r10 %lx r11 %lx r12 %lx r13 %lx r14 %lx r15 %lx", g[GREG_R8], g[GREG_R9],
		   g[GREG_R10], g[GREG_R11], g[GREG_R12], g[GREG_R13], g[GREG_R14], g[GREG_R15]);
}

/* A defect of pcl: says where and dies of the same signal. */
static void crash(struct thread *t, int signo, const struct ksiginfo *info, struct kucontext *uc)
{
	struct ksigaction dfl = {0, 0x04000000u, (u64)signal_restorer, 0};

	dump_registers(signo, info, uc->greg);
	log_printf(0, "guest rip %lx rsp %lx, system call %lu", t->cpu->rip, cpu_get_gpr(t->cpu, RSP), t->nr);
	sys4(__NR_rt_sigaction, signo, &dfl, 0, 8);
	sys3(__NR_tgkill, sys0(__NR_getpid), sys0(__NR_gettid), signo);
}

static bool is_write_fault(int signo, const u64 *g)
{
	return signo == SIGSEGV && g[GREG_TRAPNO] == TRAP_NO_PAGE_FAULT && (g[GREG_ERR] & PAGE_FAULT_WRITE);
}

/* An exception of the instruction at uc's rip. */
static void take_exception(struct thread *t, int signo, const struct ksiginfo *info, struct kucontext *uc)
{
	u64 *g = uc->greg;
	bool given_up;
	u64 fixup;
	struct cpu out;

	if (signo == SIGTRAP && t->stepping && info->code == CODE_TRAP_TRACE) {
		stepped(t, uc);
		return;
	}
	fixup = guest_fault_fixup(g[GREG_RIP]);
	if (fixup && (signo == SIGSEGV || signo == SIGBUS)) {
		if (!is_write_fault(signo, g) || !dbt_write_fault(g[GREG_CR2]))
			g[GREG_RIP] = fixup;
		return;
	}
	given_up = rseq_gave_up(t, g[GREG_RIP]);
	if (!given_up && dbt_locate(t->cpu, g, &out) == DBT_AT_RUNTIME) {
		crash(t, signo, info, uc);
		return;
	}
	/* The store must still happen, and the next instruction be translated afresh: it may have been changed. */
	if (is_write_fault(signo, g) && dbt_write_fault(g[GREG_CR2])) {
		if (!given_up)
			step(t, uc);
		return;
	}
	if (given_up && rseq_fault_again(t))
		return;
	g[GREG_EFL] &= ~(t->stepping ? TRAP_FLAG : 0);
	t->stepping = 0;
	t->fault.signo = signo;
	memcpy(t->fault.info, info, sizeof(t->fault.info));
	t->trap_no = g[GREG_TRAPNO];
	t->trap_err = g[GREG_ERR];
	if (t->trap_no == TRAP_NO_PAGE_FAULT)
		t->trap_cr2 = g[GREG_CR2];
	dbt_leave(t->cpu, g);
	if (signo == SIGILL || signo == SIGFPE || (signo == SIGTRAP && info->code != SIG_CODE_KERNEL))
		((struct ksiginfo *)t->fault.info)->addr = t->cpu->rip;
	t->attention = 1;
	t->cpu->pending = 1;
}

/* In the window before the system call: back to the guest's instruction. */
static bool abort_window(struct thread *t, u64 *g)
{
	u64 pc = g[GREG_RIP];

	if (pc < (u64)window_begin || pc > (u64)window_enter)
		return false;
	t->again_entered = g[GREG_RCX] != 0;
	if (g[GREG_RAX] == __NR_restart_syscall)
		t->again_rax = g[GREG_RAX];
	g[GREG_RIP] = (u64)window_abort;
	return true;
}

static void take_asynchronous(struct thread *t, int signo, const struct ksiginfo *info, struct kucontext *uc)
{
	bool special = SIG_NEVER_BLOCKED & SIG_BIT(signo);
	struct taken_signal *slot = special ? &t->held[sig_held_index(signo)] : &t->pending;

	if (slot->signo)
		return; /* as a standard signal that is pending already */
	slot->signo = signo;
	memcpy(slot->info, info, sizeof(slot->info));
	if (special && (SIG_BIT(signo) & (t->call_mask_on ? t->call_mask : t->sigmask)))
		return;
	if (!special)
		hold_signals(t, uc);
	t->attention = 1;
	t->cpu->pending = 1;
	if (!abort_window(t, uc->greg))
		leave_cache(t, uc);
}

/* The runtime was interrupted on the way out of a system call: the signal came while the kernel served that. */
static bool comes_from_kernel(const struct thread *t, u64 pc)
{
	static const u8 syscall_insn[2] = {0x0f, 0x05};

	return !t->task->in_cache && !memcmp((const u8 *)pc - sizeof(syscall_insn), syscall_insn, sizeof(syscall_insn));
}

static void take_kick(struct thread *t, const struct ksiginfo *info, struct kucontext *uc)
{
	t->cpu->pending = 1;
	if (t->stepping) /* a fence, which nothing blocks: it is on its way out */
		return;
	if (info->code == SI_TIMER)
		t->clock_fired = comes_from_kernel(t, uc->greg[GREG_RIP]) ? CLOCK_FIRED_IN_CALL : CLOCK_FIRED;
	if (uc->greg[GREG_RIP] == (u64)window_end) {
		if ((s64)uc->greg[GREG_RAX] == -4) /* EINTR */
			t->kicked = 1;
		return;
	}
	leave_cache(t, uc);
}

/*
 * A seccomp filter of the guest's has stopped a system call. The kernel has put its number back into rax. If it is the
 * guest's, the signal is raised when the call has been served, unless it was by another way; what the handlers of os/
 * see of it, as of any call of our own that is stopped, is a call that does not exist.
 */
static void take_stopped_call(struct thread *t, const struct ksiginfo *info, struct kucontext *uc)
{
	struct ksiginfo *guests = (struct ksiginfo *)t->fault.info;
	s32 nr = (s32)info->value; /* si_syscall; si_arch is above it */

	uc->greg[GREG_RAX] = (u64)-ENOSYS;
	if (!t->serving || nr != (s32)t->nr)
		return;
	memcpy(guests, info, sizeof(*guests));
	guests->addr = t->cpu->rip;
	t->trapped = 1;
}

/* Not in another handler, which will itself ask what is asked below. */
static bool on_runtime_stack(const struct thread *t, u64 sp)
{
	return sp - (thread_area(t) + THREAD_RT_STACK) <= THREAD_RT_TOP - THREAD_RT_STACK;
}

void signal_host_handler(int signo, struct ksiginfo *info, struct kucontext *uc)
{
	struct thread *t = thread_current();

	if (unlikely(uc->greg[GREG_RIP] == (u64)signal_mask_by_trap) && signo == SIGILL) {
		uc->sigmask = uc->greg[GREG_RDI];
		uc->greg[GREG_RIP] += 2;
		return;
	}
	if ((SIG_SYNC & SIG_BIT(signo)) && info->code > 0 && uc->greg[GREG_RIP] != (u64)window_end)
		take_exception(t, signo, info, uc);
	else if (signo == SIGSYS && info->code == CODE_SYS_SECCOMP)
		take_stopped_call(t, info, uc);
	else if (signal_is_kick(t, signo, info))
		take_kick(t, info, uc);
	else
		take_asynchronous(t, signo, info, uc);
	if (unlikely(t->section.open) && on_runtime_stack(t, uc->greg[GREG_RSP]))
		section_interrupted(&t->section, &uc->greg[GREG_RIP], &uc->greg[GREG_RDI]);
}
