/* See user_dispatch.h. */
#include "os/task/user_dispatch.h"
#include <asm/errno.h>
#include <linux/prctl.h>
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "rt/guest.h"
#include "rt/layout.h"
#include "rt/sys.h"

#define MODE_OFF       0
#define MODE_EXCLUSIVE 1 /* calls from the range are not dispatched */
#define MODE_INCLUSIVE 2 /* only those are: Linux 6.16 */

#define ALLOW 0 /* what the selector says */
#define BLOCK 1

#define CODE_USER_DISPATCH 2

/* Tried with a range that none of our calls comes from. */
static bool kernel_has_inclusive(void)
{
	if (sys5(__NR_prctl, PR_SET_SYSCALL_USER_DISPATCH, MODE_INCLUSIVE, 1, 1, 0))
		return false;
	sys5(__NR_prctl, PR_SET_SYSCALL_USER_DISPATCH, MODE_OFF, 0, 0, 0);
	return true;
}

long user_dispatch_set(struct thread *t, u64 mode, u64 begin, u64 length, gva selector)
{
	switch (mode) {
	case MODE_OFF:
		if (begin || length || selector)
			return -EINVAL;
		break;
	case MODE_EXCLUSIVE:
		if (begin && begin + length <= begin)
			return -EINVAL;
		break;
	case MODE_INCLUSIVE:
		if (!kernel_has_inclusive() || !length || begin + length <= begin)
			return -EINVAL;
		/* what is not of the range is the range that wraps around */
		begin += length;
		length = -length;
		break;
	default:
		return -EINVAL;
	}
	if (selector >= LAYOUT_GUEST_END)
		return -EFAULT;
	t->dispatch.begin = begin;
	t->dispatch.length = length;
	t->dispatch.selector = selector;
	t->dispatch.on = mode != MODE_OFF;
	return 0;
}

bool user_dispatch_takes(struct thread *t)
{
	struct ksiginfo *info = (struct ksiginfo *)t->fault.info;
	u8 selector = BLOCK;

	if (t->cpu->rip - t->dispatch.begin < t->dispatch.length)
		return false;
	if (t->dispatch.selector && guest_read(&selector, t->dispatch.selector, sizeof(selector)))
		signal_die(t, SIGSEGV);
	if (selector == ALLOW)
		return false;
	if (selector != BLOCK)
		signal_die(t, SIGSYS);
	signal_fault(t, SIGSYS, CODE_USER_DISPATCH, t->cpu->rip, 0, 0);
	info->value = (u32)t->nr | ARCH_AUDIT << 32; /* si_syscall, si_arch */
	return true;
}
