/*
 * arch_prctl, and map_shadow_stack.
 *
 * Shadow stacks: as a kernel without CONFIG_X86_USER_SHADOW_STACK. Translated code returns by lookup, so a shadow stack
 * would never agree. A program that is marked for them runs without.
 *
 * ARCH_SET_CPUID: the runtime executes the guest's cpuid and some of its own, so the processor is never told to fault.
 */
#include <asm/errno.h>
#include <asm/prctl.h>
#include "os/syscall.h"
#include "rt/sys.h"

#ifndef ARCH_SHSTK_ENABLE /* Linux 6.6 */
#define ARCH_SHSTK_ENABLE 0x5001
#define ARCH_SHSTK_STATUS 0x5005
#endif

/* The processor may be able to fault; asking for what is so already changes nothing. */
static long set_cpuid(struct thread *t, bool on)
{
	long ret = sys2(__NR_arch_prctl, ARCH_SET_CPUID, 1);

	if (!ret)
		t->no_cpuid = !on;
	return ret;
}

long sys_arch_prctl(struct thread *t, const u64 *a)
{
	s32 code = (s32)a[0];

	if (code >= ARCH_SHSTK_ENABLE && code <= ARCH_SHSTK_STATUS)
		return refuse(EINVAL, "shadow stacks: returns of translated code do not go by them");
	if (code == ARCH_SET_CPUID)
		return set_cpuid(t, a[1]);
	if (code == ARCH_GET_CPUID)
		return !t->no_cpuid;
	return syscall_pass(t, a);
}

long sys_map_shadow_stack(struct thread *t, const u64 *a)
{
	return refuse(ENOSYS, "shadow stacks: returns of translated code do not go by them");
}
