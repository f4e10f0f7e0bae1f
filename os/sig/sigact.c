/* Signal actions and masks: rt_sigaction, rt_sigprocmask, rt_sigpending, and what the kernel has in their place. */
#include <asm/errno.h>
#include "event/space.h"
#include "os/session/process.h"
#include "os/session/handover.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "rt/guest.h"
#include "rt/log.h"
#include "rt/string.h"
#include "rt/sys.h"

#define ACTION_DFL	   0
#define ACTION_IGN	   1
#define SA_EXPOSE_TAGBITS_ 0x00000800u
/* The flags that the kernel keeps (UAPI_SA_FLAGS); it forgets the others since Linux 5.11. */
#define SA_KEPT                                                                                                        \
	(SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | SA_RESETHAND |              \
	 SA_RESTORER_ | SA_EXPOSE_TAGBITS_)

void signal_host_mask(u64 mask)
{
	const struct thread *t = thread_current();

	if (unlikely(t && t->strict)) /* it may not call, but a handler's return may */
		signal_mask_by_trap(mask);
	else
		sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

enum signal_default signal_default(int signo)
{
	switch (signo) {
	case SIGCHLD:
	case SIGCONT:
	case SIGURG:
	case SIGWINCH:
		return SIGDEF_IGNORE;
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return SIGDEF_STOP;
	}
	return SIGDEF_TERMINATE;
}

/* What the kernel knows and we have not been told: the actions kept over exec are SIG_DFL and SIG_IGN only. */
static struct ksigaction *action_locked(struct sighand *sh, int signo)
{
	if (!(sh->known & SIG_BIT(signo))) {
		sys4(__NR_rt_sigaction, signo, 0, &sh->act[signo], 8);
		sh->known |= SIG_BIT(signo);
	}
	return &sh->act[signo];
}

void sighand_get_action(struct sighand *sh, int signo, struct ksigaction *out)
{
	lock_acquire(&sh->lock);
	*out = *action_locked(sh, signo);
	lock_release(&sh->lock);
}

void sighand_sets(struct sighand *sh, u64 *caught, u64 *ignored)
{
	int signo;

	*caught = *ignored = 0;
	lock_acquire(&sh->lock);
	for (signo = 1; signo <= SIG_NUMBERS; signo++) {
		const struct ksigaction *act = action_locked(sh, signo);

		*caught |= act->handler > ACTION_IGN ? SIG_BIT(signo) : 0;
		*ignored |= act->handler == ACTION_IGN ? SIG_BIT(signo) : 0;
	}
	lock_release(&sh->lock);
}

static int host_action_locked(struct sighand *sh, int signo)
{
	const struct ksigaction *act = action_locked(sh, signo);
	struct ksigaction host = *act;
	bool ours = act->handler > ACTION_IGN || (SIG_NEVER_BLOCKED & SIG_BIT(signo)) ||
		    (act->handler == ACTION_DFL && sh->fatal_caught && signal_default(signo) == SIGDEF_TERMINATE &&
		     !(SIG_UNBLOCKABLE & SIG_BIT(signo)));

	if (ours) {
		host.handler = (u64)signal_entry;
		host.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER_ | (act->flags & (SA_NOCLDSTOP | SA_NOCLDWAIT));
		if (act->handler <= ACTION_IGN)
			host.flags |= SA_RESTART;
		else
			host.flags |= act->flags & SA_RESTART;
		if (SIG_NEVER_BLOCKED & SIG_BIT(signo))
			host.flags |= SIG_FORCED & SIG_BIT(signo) ? SA_NODEFER : 0;
		else if (act->handler > ACTION_IGN)
			host.flags |= act->flags & SA_RESETHAND;
		host.restorer = (u64)signal_restorer;
		host.mask = SIG_IN_HANDLERS;
	}
	return sys4(__NR_rt_sigaction, signo, &host, 0, 8);
}

void sighand_reset_action(struct sighand *sh, int signo)
{
	lock_acquire(&sh->lock);
	action_locked(sh, signo)->handler = ACTION_DFL;
	host_action_locked(sh, signo);
	lock_release(&sh->lock);
}

/* On the runtime stack, before there is an alternate one. */
static void note_stack_flags(int signo, struct ksiginfo *info, struct kucontext *uc)
{
	thread_current()->altstack.flags = (u32)uc->stack.flags;
}

/*
 * Linux quirk: exec keeps the flags of an alternate stack, and signal frames show them, but sigaltstack() does not. So
 * the session's first program learns those of whoever started pcl from a frame.
 */
static void probe_stack_flags(struct thread *t)
{
	struct ksigaction act = {(u64)note_stack_flags, SA_SIGINFO | SA_RESTORER_, (u64)signal_restorer, ~0ul}, old;

	sys4(__NR_rt_sigaction, SIG_KICK, &act, &old, 8);
	signal_host_mask(~SIG_BIT(SIG_KICK));
	sys3(__NR_tgkill, t->pid, t->tid, SIG_KICK);
	sys4(__NR_rt_sigaction, SIG_KICK, &old, 0, 8);
}

/*
 * The guest's signal state over exec: the kernel keeps its own part; what it cannot know about SIG_NEVER_BLOCKED is in
 * what was handed over (see signal_exec_state).
 */
int signal_init(struct thread *t)
{
	struct sighand *sh = process_page_alloc(t->proc);
	u64 mask;
	int signo;

	if (!sh)
		return -ENOMEM;
	_Static_assert(sizeof(*sh) <= PAGE_SIZE, "one page");
	lock_init(&sh->lock, RANK_SIGHAND);
	sh->refs = 1;
	t->sighand = sh;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, 0, &mask, 8);
	t->altstack.flags = handover.ss_flags;
	if (!handover.fd)
		probe_stack_flags(t);
	t->sigmask = (mask & ~SIG_NEVER_BLOCKED) | (handover.sigmask & SIG_NEVER_BLOCKED);
	for (signo = 1; signo <= SIG_NUMBERS; signo++) {
		if (!(SIG_NEVER_BLOCKED & SIG_BIT(signo)))
			continue;
		action_locked(sh, signo);
		if (handover.sigign & SIG_BIT(signo))
			sh->act[signo].handler = ACTION_IGN;
		host_action_locked(sh, signo);
	}
	signal_thread_begin(t, false);
	signal_fence_init();
	signal_host_mask(t->sigmask & ~SIG_NEVER_BLOCKED);
	return 0;
}

void signal_end_begins(struct thread *t)
{
	struct ksigaction ignore = {.handler = ACTION_IGN};
	u32 threads = __atomic_load_n(&t->group->nr_threads, __ATOMIC_RELAXED);

	signal_host_mask(SIG_ALL_ASYNC);
	if (!event_space->opened || threads <= 1 || threads != __atomic_load_n(&t->sighand->refs, __ATOMIC_RELAXED))
		return;
	for (int signo = 1; signo <= SIG_NUMBERS; signo++)
		if (signal_default(signo) == SIGDEF_TERMINATE &&
		    !((SIG_NEVER_BLOCKED | SIG_UNBLOCKABLE) & SIG_BIT(signo)))
			sys4(__NR_rt_sigaction, signo, &ignore, 0, 8);
}

static void host_block(int how, u64 set)
{
	sys4(__NR_rt_sigprocmask, how, &set, 0, 8);
}

void signal_exec_state(struct thread *t, struct handover *out)
{
	u64 ignored = 0;
	int signo;

	t->executing = 1;
	host_block(SIG_BLOCK, SIG_BIT(SIG_KICK) | SIG_BIT(SIG_FENCE));

	lock_acquire(&t->sighand->lock);
	for (signo = 1; signo <= SIG_NUMBERS; signo++)
		if ((SIG_NEVER_BLOCKED & SIG_BIT(signo)) && t->sighand->act[signo].handler == ACTION_IGN)
			ignored |= SIG_BIT(signo);
	lock_release(&t->sighand->lock);
	out->sigmask = t->sigmask & SIG_NEVER_BLOCKED;
	out->sigign = ignored;
	out->ss_flags = t->altstack.flags;
}

void signal_exec_failed(struct thread *t)
{
	t->executing = 0;
	host_block(SIG_UNBLOCK, SIG_BIT(SIG_FENCE) | (t->host_blocked ? 0 : SIG_BIT(SIG_KICK)));
}

void signal_thread_begin(struct thread *t, bool clear_sighand)
{
	struct {
		u64 sp;
		s32 flags, pad;
		u64 size;
	} ss = {thread_area(t) + THREAD_ALT_STACK, 0, 0, THREAD_ALT_TOP - THREAD_ALT_STACK};
	long ret = sys2(__NR_sigaltstack, &ss, 0);
	int signo;

	check(ret == 0);
	if (!clear_sighand)
		return;
	lock_acquire(&t->sighand->lock);
	for (signo = 1; signo <= SIG_NUMBERS; signo++) {
		struct ksigaction *act = action_locked(t->sighand, signo);

		if (act->handler > ACTION_IGN)
			memset(act, 0, sizeof(*act));
		if (!(SIG_UNBLOCKABLE & SIG_BIT(signo)))
			host_action_locked(t->sighand, signo);
	}
	lock_release(&t->sighand->lock);
}

struct sighand *sighand_copy(struct thread *t)
{
	struct sighand *sh = process_page_alloc(t->proc);

	if (!sh)
		return NULL;
	lock_acquire(&t->sighand->lock);
	memcpy(sh, t->sighand, sizeof(*sh));
	lock_release(&t->sighand->lock);
	lock_init(&sh->lock, RANK_SIGHAND);
	sh->refs = 1;
	return sh;
}

void sighand_put(struct thread *t, struct sighand *sh)
{
	if (__atomic_sub_fetch(&sh->refs, 1, __ATOMIC_ACQ_REL) == 0)
		process_page_free(t->proc, sh);
}

void signal_catch_fatal(struct thread *t)
{
	struct sighand *sh = t->sighand;
	int signo;

	if (__atomic_load_n(&sh->fatal_caught, __ATOMIC_RELAXED))
		return;
	lock_acquire(&sh->lock);
	if (!sh->fatal_caught) {
		sh->fatal_caught = 1;
		for (signo = 1; signo <= SIG_NUMBERS; signo++)
			if (!(SIG_UNBLOCKABLE & SIG_BIT(signo)) && signal_default(signo) == SIGDEF_TERMINATE &&
			    action_locked(sh, signo)->handler == ACTION_DFL)
				host_action_locked(sh, signo);
	}
	lock_release(&sh->lock);
}

/* Signals that were taken and are now to be ignored go away, as the kernel's flush_sigqueue_mask() does. */
static void forget_held(struct thread *t, int signo)
{
	if (SIG_NEVER_BLOCKED & SIG_BIT(signo))
		t->held[sig_held_index(signo)].signo = 0;
}

long sys_rt_sigaction(struct thread *t, const u64 *a)
{
	struct ksigaction new, old;
	int signo = (int)a[0];
	long ret = 0;

	if (a[3] != 8)
		return refuse(EINVAL, "size of the signal set");
	if (a[1] && guest_read(&new, a[1], sizeof(new)))
		return -EFAULT;
	if (signo < 1 || signo > SIG_NUMBERS || (a[1] && (SIG_UNBLOCKABLE & SIG_BIT(signo))))
		return -EINVAL;
	lock_acquire(&t->sighand->lock);
	old = *action_locked(t->sighand, signo);
	if (a[1]) {
		new.flags &= SA_KEPT;
		new.mask &= ~SIG_UNBLOCKABLE;
		t->sighand->act[signo] = new;
		ret = host_action_locked(t->sighand, signo);
		if (ret)
			t->sighand->act[signo] = old;
	}
	lock_release(&t->sighand->lock);
	if (ret)
		return ret;
	if (a[1] && (new.handler == ACTION_IGN || (new.handler == ACTION_DFL &&signal_default(signo) == SIGDEF_IGNORE)))
		forget_held(t, signo);
	if (a[2] && guest_write(a[2], &old, sizeof(old)))
		return -EFAULT;
	return 0;
}

long thread_set_mask(struct thread *t, u64 mask)
{
	long ret;
	unsigned int i;

	t->scratch[0] = mask & ~SIG_NEVER_BLOCKED;
	ret = thread_syscall(t, __NR_rt_sigprocmask, SIG_SETMASK, (u64)t->scratch, 0, 8, 0, 0);
	if (ret == SYSCALL_AGAIN)
		return ret;
	t->sigmask = mask & ~SIG_UNBLOCKABLE;
	for (i = 0; i < ARRAY_SIZE(t->held); i++)
		if (t->held[i].signo && !(t->sigmask & SIG_BIT(t->held[i].signo)))
			t->attention = 1;
	return 0;
}

long sys_rt_sigprocmask(struct thread *t, const u64 *a)
{
	u64 set, mask = t->sigmask, old = t->sigmask;
	long ret;

	if (a[3] != 8)
		return refuse(EINVAL, "size of the signal set");
	if (a[1]) {
		if (guest_read(&set, a[1], 8))
			return -EFAULT;
		switch ((int)a[0]) {
		case SIG_BLOCK:
			mask |= set;
			break;
		case SIG_UNBLOCK:
			mask &= ~set;
			break;
		case SIG_SETMASK:
			mask = set;
			break;
		default:
			return -EINVAL;
		}
		if ((mask & ~SIG_UNBLOCKABLE) != old) {
			ret = thread_set_mask(t, mask);
			if (ret)
				return ret;
		}
	}
	if (a[2] && guest_write(a[2], &old, 8))
		return -EFAULT;
	return 0;
}

long sys_rt_sigpending(struct thread *t, const u64 *a)
{
	u64 set;
	unsigned int i;
	long ret;

	if (a[1] > 8)
		return -EINVAL;
	ret = thread_syscall(t, __NR_rt_sigpending, (u64)t->scratch, 8, 0, 0, 0, 0);
	if (ret)
		return ret;
	set = t->scratch[0];
	for (i = 0; i < ARRAY_SIZE(t->held); i++)
		if (t->held[i].signo)
			set |= SIG_BIT(t->held[i].signo) & t->sigmask;
	return guest_write(a[0], &set, a[1]);
}
