/* The guest's alternate signal stack: sigaltstack(2). */
#include <asm/errno.h>
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "rt/guest.h"
#include "rt/string.h"

/* The kernel's __on_sig_stack(). */
bool sigaltstack_has(const struct thread *t, u64 sp)
{
	return sp > t->altstack.sp && sp - t->altstack.sp <= t->altstack.size;
}

u32 sigaltstack_state(const struct thread *t, u64 guest_sp)
{
	if (!t->altstack.size)
		return SS_DISABLE_;
	return !(t->altstack.flags & SS_AUTODISARM_) && sigaltstack_has(t, guest_sp) ? SS_ONSTACK_ : 0;
}

int sigaltstack_set(struct thread *t, u64 sp, u64 size, u32 flags, u64 guest_sp)
{
	u32 mode = flags & ~SS_AUTODISARM_;

	if (sigaltstack_state(t, guest_sp) == SS_ONSTACK_)
		return -EPERM;
	if (mode != SS_DISABLE_ && mode != SS_ONSTACK_ && mode != 0)
		return -EINVAL;
	/* Linux quirk: what it is already is never too small. */
	if (t->altstack.sp == sp && t->altstack.size == size && t->altstack.flags == flags)
		return 0;
	if (mode == SS_DISABLE_) {
		sp = size = 0;
	} else if (size < SIGFRAME_STACK_MIN) {
		return -ENOMEM;
	}
	t->altstack.sp = sp;
	t->altstack.size = size;
	t->altstack.flags = flags;
	return 0;
}

long sys_sigaltstack(struct thread *t, const u64 *a)
{
	u64 sp = cpu_get_gpr(t->cpu, REG_SP);
	struct {
		u64 sp;
		s32 flags, pad;
		u64 size;
	} new, old;
	int ret;

	if (a[0] && guest_read(&new, a[0], sizeof(new)))
		return -EFAULT;
	memset(&old, 0, sizeof(old));
	old.sp = t->altstack.sp;
	old.size = t->altstack.size;
	old.flags = (s32)(sigaltstack_state(t, sp) | (t->altstack.flags & SS_AUTODISARM_));
	if (a[0]) {
		ret = sigaltstack_set(t, new.sp, new.size, (u32)new.flags, sp);
		if (ret)
			return ret;
	}
	return a[1] && guest_write(a[1], &old, sizeof(old)) ? -EFAULT : 0;
}
