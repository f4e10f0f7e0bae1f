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
#include "os/sig/trap.h"
#include "os/syscall.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/log.h"
#include "rt/string.h"
#include "rt/sys.h"

#define CODE_SYS_SECCOMP 1

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
	t->stepping = 1;
	trap_step(t, uc->greg);
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
	case DBT_AT_BRANCH:
		step(t, uc);
		break;
	}
}

static void stepped(struct thread *t, struct kucontext *uc)
{
	t->stepping = 0;
	trap_stepped(t, uc->greg);
	leave_cache(t, uc);
}

/* What is executed there, if it can be read: "> " is in front of pc. */
static void print_code(u64 pc)
{
	enum { BEFORE = 32, AFTER = 24 };
	u8 code[BEFORE + AFTER];
	char line[3 * sizeof(code) + 16];
	size_t at = 0;

	if (guest_read(code, pc - BEFORE, sizeof(code)))
		return;
	for (u32 i = 0; i < sizeof(code); i++)
		at = rt_append(line, sizeof(line), at, i == BEFORE ? "> %02x " : "%02x ", code[i]);
	log_printf(0, "code: %s", line);
}

/* A defect of pcl: says where and dies of the same signal. */
static void crash(struct thread *t, int signo, const struct ksiginfo *info, struct kucontext *uc)
{
	struct ksigaction dfl = {0, SA_RESTORER_, (u64)signal_restorer, 0};

	log_printf(0, "signal %d (code %d, address %#lx) in the runtime at %#lx", signo, info->code, info->addr,
		   uc->greg[GREG_PC]);
	trap_dump(uc->greg);
	print_code(uc->greg[GREG_PC]);
	log_printf(0, "guest pc %lx sp %lx, system call %lu", t->cpu->rip, cpu_get_gpr(t->cpu, REG_SP), t->nr);
	log_dump();
	sys4(__NR_rt_sigaction, signo, &dfl, 0, 8);
	sys3(__NR_tgkill, sys0(__NR_getpid), sys0(__NR_gettid), signo);
}

/* An exception of the instruction at uc's pc. */
static void take_exception(struct thread *t, int signo, const struct ksiginfo *info, struct kucontext *uc)
{
	u64 *g = uc->greg;
	enum dbt_where where;
	bool given_up, write;
	u64 fixup;
	struct cpu out;
	gva addr;

	if (signo == SIGTRAP && t->stepping && trap_is_step(t, g, info->code)) {
		stepped(t, uc);
		return;
	}
	write = trap_is_write(signo, info->code, g, &addr);
	fixup = guest_fault_fixup(g[GREG_PC]);
	if (fixup && (signo == SIGSEGV || signo == SIGBUS)) {
		if (write && dbt_write_fault(addr))
			return;
		t->copy_fault.signo = signo;
		t->copy_fault.code = info->code;
		g[GREG_PC] = fixup;
		return;
	}
	given_up = rseq_gave_up(t, g[GREG_PC]);
	where = dbt_locate(t->cpu, g, &out);
	if (where == DBT_AT_RUNTIME && signo == SIGSEGV && trap_is_of_counter(g))
		return;
	if (!given_up && (where == DBT_AT_RUNTIME || where == DBT_AT_BRANCH)) {
		crash(t, signo, info, uc);
		return;
	}
	/* The store must still happen. If its own fragment is forgotten, the next instruction is translated afresh. */
	if (write && dbt_write_fault(addr)) {
		if (!given_up && (t->stepping || !dbt_is_alive(g[GREG_PC])))
			step(t, uc);
		return;
	}
	if (given_up && rseq_fault_again(t))
		return;
	if (t->stepping)
		trap_step_ends(t, g);
	t->stepping = 0;
	t->fault.signo = signo;
	memcpy(t->fault.info, info, sizeof(t->fault.info));
	trap_note(t, g);
	dbt_leave(t->cpu, g);
	if (signo == SIGILL || signo == SIGFPE || (signo == SIGTRAP && info->code != SIG_CODE_KERNEL))
		((struct ksiginfo *)t->fault.info)->addr = t->cpu->rip;
	t->attention = 1;
	t->cpu->pending = 1;
}

struct dbt_fault dbt_host_read_fault(gva addr)
{
	struct thread *t = thread_current();
	u8 byte;

	if (!guest_read(&byte, addr, sizeof(byte)))
		return (struct dbt_fault){0};
	return (struct dbt_fault){t->copy_fault.signo, t->copy_fault.code, addr};
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
	if (!trap_abort_window(t, uc->greg))
		leave_cache(t, uc);
}

/* The runtime was interrupted on the way out of a system call: the signal came while the kernel served that. */
static bool comes_from_kernel(const struct thread *t, u64 pc)
{
	static const u8 insn[] = ARCH_SYSCALL;

	return !t->task->in_cache && !memcmp((const u8 *)pc - sizeof(insn), insn, sizeof(insn));
}

static void take_kick(struct thread *t, const struct ksiginfo *info, struct kucontext *uc)
{
	t->cpu->pending = 1;
	if (t->stepping) /* a fence, which nothing blocks: it is on its way out */
		return;
	if (info->code == SI_TIMER)
		t->clock_fired = comes_from_kernel(t, uc->greg[GREG_PC]) ? CLOCK_FIRED_IN_CALL : CLOCK_FIRED;
	if (uc->greg[GREG_PC] == (u64)window_end) {
		if ((s64)uc->greg[GREG_RESULT] == -EINTR)
			t->kicked = 1;
		return;
	}
	leave_cache(t, uc);
}

/*
 * A seccomp filter of the guest's has stopped a system call. The kernel has put its number back into its register. If
 * it is the guest's, the signal is raised when the call has been served, unless it was by another way; what the
 * handlers of os/ see of it, as of any call of our own that is stopped, is a call that does not exist.
 */
static void take_stopped_call(struct thread *t, const struct ksiginfo *info, struct kucontext *uc)
{
	struct ksiginfo *guests = (struct ksiginfo *)t->fault.info;
	s32 nr = (s32)info->value; /* si_syscall; si_arch is above it */

	uc->greg[GREG_RESULT] = (u64)-ENOSYS;
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

	if (unlikely(signo == SIGILL) && trap_is_of_mask(uc->greg)) {
		uc->sigmask = uc->greg[GREG_ARG];
		return;
	}
	if ((SIG_SYNC & SIG_BIT(signo)) && info->code > 0 && uc->greg[GREG_PC] != (u64)window_end)
		take_exception(t, signo, info, uc);
	else if (signo == SIGSYS && info->code == CODE_SYS_SECCOMP)
		take_stopped_call(t, info, uc);
	else if (signal_is_kick(t, signo, info))
		take_kick(t, info, uc);
	else
		take_asynchronous(t, signo, info, uc);
	if (unlikely(t->section.open) && on_runtime_stack(t, uc->greg[GREG_SP]))
		section_interrupted(&t->section, &uc->greg[GREG_PC], &uc->greg[GREG_ARG]);
}
