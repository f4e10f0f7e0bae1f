/*
 * Delivery of the signals that os/sig/signal.c took, between two guest instructions and in ordinary C: what the
 * kernel's get_signal() and handle_signal() do on the way back to user mode.
 */
#include <asm/errno.h>
#include "os/pin/pin.h"
#include "os/session/process.h"
#include "os/session/refusals.h"
#include "os/session/session.h"
#include "os/sig/rseq.h"
#include "os/sig/signal.h"
#include "os/sig/sigtime.h"
#include "os/sig/trap.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/string.h"
#include "rt/sys.h"

#define ACTION_DFL 0
#define ACTION_IGN 1

/* The set that decides whether a signal is deliverable now. */
static u64 mask_now(const struct thread *t)
{
	return t->call_mask_on ? t->call_mask : t->sigmask;
}

void signal_fault(struct thread *t, int signo, int code, u64 addr, u64 trap_no, u64 err)
{
	struct ksiginfo *info = (struct ksiginfo *)t->fault.info;

	memset(t->fault.info, 0, sizeof(t->fault.info));
	info->signo = signo;
	info->code = code;
	info->addr = addr;
	t->fault.signo = signo;
	if (trap_no)
		trap_set(t, trap_no, err, addr);
	t->attention = 1;
}

/* Those that say that the program failed; others are mostly sent by somebody who wants its end. */
#define SIG_FAILURES                                                                                                   \
	(SIG_BIT(SIGABRT) | SIG_BIT(SIGSEGV) | SIG_BIT(SIGILL) | SIG_BIT(SIGBUS) | SIG_BIT(SIGFPE) |                   \
	 SIG_BIT(SIGTRAP) | SIG_BIT(SIGSYS))

void signal_die(struct thread *t, int signo)
{
	struct ksigaction dfl = {ACTION_DFL, SA_RESTORER_, (u64)signal_restorer, 0};

	if (unlikely(t->strict)) {
		signal_host_mask(~0ul); /* a blocked exception ends the process */
		trap_raise(signo);
	}
	signal_end_begins(t);
	refusals_last_word(t, SIG_FAILURES & SIG_BIT(signo) ? 128 + signo : 0);
	group_quiesce(t);
	pin_task_ends(t);
	session_group_end(t->task);
	sys4(__NR_rt_sigaction, signo, &dfl, 0, 8);
	if (sys3(__NR_tgkill, sys0(__NR_getpid), t->tid, signo) == -EAGAIN)
		sys2(__NR_kill, sys0(__NR_getpid), signo); /* which needs no place in the queue */
	signal_host_mask(SIG_ALL_ASYNC & ~SIG_BIT(signo));
	/*
	 * Only the first process of a pid namespace survives that: it does not hear of the signal that is sent to it,
	 * but an exception of its own ends it. SIGBUS and those that are no exceptions are left.
	 */
	trap_raise(signo);
	for (;;)
		sys1(__NR_exit_group, 128 + signo);
}

static const struct ksiginfo *info_of(const struct taken_signal *sig)
{
	return (const struct ksiginfo *)sig->info;
}

/* Enters the handler, or raises the SIGSEGV of a frame that cannot be built. */
static void enter_handler(struct thread *t, const struct ksigaction *act, const struct taken_signal *sig)
{
	u64 mask = mask_now(t) | act->mask;

	rseq_give_up(t);
	if (!(act->flags & SA_NODEFER))
		mask |= SIG_BIT(sig->signo);
	if (act->flags & SA_RESETHAND)
		sighand_reset_action(t->sighand, sig->signo);
	if (sigframe_push(t, sig->signo, act, sig)) {
		if (sig->signo == SIGSEGV) {
			perf_delivered(t, info_of(sig), ACTION_DFL, act->flags);
			signal_die(t, SIGSEGV);
		}
		signal_fault(t, SIGSEGV, SIG_CODE_KERNEL, 0, 0, 0);
		return;
	}
	if (t->altstack.flags & SS_AUTODISARM_) {
		t->altstack.sp = t->altstack.size = 0;
		t->altstack.flags = SS_DISABLE_;
	}
	stat_inc(signals);
	t->sigmask = mask & ~SIG_UNBLOCKABLE;
	t->call_mask_on = 0;
	t->host_blocked = 1;
	sigtime_entered(t);
}

/* A fault of the current instruction: blocked or ignored it kills, as in the kernel's force_sig_info(). */
static void deliver_fault(struct thread *t, const struct taken_signal *sig)
{
	struct ksigaction act;

	sighand_get_action(t->sighand, sig->signo, &act);
	if (act.handler <= ACTION_IGN || (mask_now(t) & SIG_BIT(sig->signo))) {
		perf_delivered(t, info_of(sig), ACTION_DFL, act.flags);
		signal_die(t, sig->signo);
	}
	perf_delivered(t, info_of(sig), act.handler, act.flags);
	enter_handler(t, &act, sig);
}

static void deliver_asynchronous(struct thread *t, struct taken_signal *sig)
{
	u32 cause = sigtime_cause(t, sig);
	struct ksigaction act;

	if (unlikely(cause))
		sigtime_begin(t, cause);
	if (!perf_signal_taken(t, sig))
		return;
	sighand_get_action(t->sighand, sig->signo, &act);
	if (act.handler > ACTION_IGN) {
		perf_delivered(t, info_of(sig), act.handler, act.flags);
		enter_handler(t, &act, sig);
	} else if (t->pid == 1) { /* of its pid namespace: what it has no handler for does nothing */
		return;
	} else if (act.handler == ACTION_DFL && signal_default(sig->signo) == SIGDEF_TERMINATE) {
		perf_delivered(t, info_of(sig), act.handler, act.flags);
		signal_die(t, sig->signo);
	}
}

/*
 * Gives a signal that has become blocked since it was taken back to the kernel, for this thread. If another one has
 * taken its place in the queue, it is held here.
 */
static void give_back(struct thread *t, struct taken_signal *sig)
{
	long ret = sys4(__NR_rt_tgsigqueueinfo, sys0(__NR_getpid), t->tid, sig->signo, sig->info);

	if (ret == -EAGAIN && !t->held[SIG_HELD_BACK].signo)
		t->held[SIG_HELD_BACK] = *sig;
	else if (ret)
		ret = sys3(__NR_tgkill, sys0(__NR_getpid), t->tid, sig->signo);
	curious(ret == 0 || ret == -EAGAIN);
}

static s32 next_number(const struct thread *t)
{
	for (u32 i = 0; i < ARRAY_SIZE(t->held); i++)
		if (t->held[i].signo && !(mask_now(t) & SIG_BIT(t->held[i].signo)))
			return t->held[i].signo;
	return t->pending.signo;
}

bool thread_signal_restarts(struct thread *t)
{
	s32 signo = next_number(t);
	struct ksigaction act;

	if (!signo)
		return true;
	sighand_get_action(t->sighand, signo, &act);
	return act.handler <= ACTION_IGN || (act.flags & SA_RESTART);
}

bool thread_signal_arrives(const struct thread *t, s32 signo)
{
	struct ksigaction act;

	if (signo <= 0 || signo > SIG_NUMBERS || (mask_now(t) & SIG_BIT(signo)))
		return false;
	sighand_get_action(t->sighand, signo, &act);
	return act.handler > ACTION_IGN || (act.handler == ACTION_DFL && signal_default(signo) == SIGDEF_TERMINATE);
}

/* The next thing to deliver, moved into *out; false if there is none. */
static bool next_signal(struct thread *t, struct taken_signal *out, bool *fault)
{
	unsigned int i;

	*fault = t->fault.signo != 0;
	if (*fault) {
		*out = t->fault;
		t->fault.signo = 0;
		return true;
	}
	for (i = 0; i < ARRAY_SIZE(t->held); i++) {
		if (!t->held[i].signo || (mask_now(t) & SIG_BIT(t->held[i].signo)))
			continue;
		*out = t->held[i];
		t->held[i].signo = 0;
		return true;
	}
	if (!t->pending.signo)
		return false;
	*out = t->pending;
	t->pending.signo = 0;
	if (!(mask_now(t) & SIG_BIT(out->signo)))
		return true;
	give_back(t, out);
	return false;
}

/*
 * Nested frames come out as in the kernel: each further signal that the new mask allows is delivered on top. The
 * host's mask is set last; a signal that comes in at that moment sets t->attention again.
 */
void signal_deliver(struct thread *t)
{
	struct taken_signal sig;
	bool fault;

	do {
		t->attention = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		while (next_signal(t, &sig, &fault)) {
			if (fault)
				deliver_fault(t, &sig);
			else
				deliver_asynchronous(t, &sig);
		}
		t->call_mask_on = 0;
		if (t->host_blocked) {
			t->host_blocked = 0;
			signal_host_mask(t->sigmask & ~SIG_NEVER_BLOCKED);
		}
	} while (t->attention);
	sigtime_look(t);
}

long sys_rt_sigreturn(struct thread *t, const u64 *a)
{
	int ret;

	sigtime_returns(t);
	ret = sigframe_pop(t);
	if (ret == SYSCALL_AGAIN)
		return ret;
	if (!t->attention)
		sigtime_look(t);
	t->regs_replaced = 1;
	if (ret)
		signal_fault(t, SIGSEGV, SIG_CODE_KERNEL, 0, 0, 0);
	return 0;
}
