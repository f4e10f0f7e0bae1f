/* See cpuid.h. */
#include "os/cpuid.h"

#include <asm-generic/errno-base.h>
#include "isa/cpuid.h"
#include "os/sampling.h"
#include "os/shot.h"

int cpuid_emulate(struct thread *t)
{
	u32 leaf = (u32)cpu_get_gpr(t->cpu, RAX), subleaf = (u32)cpu_get_gpr(t->cpu, RCX), r[4];
	struct shot_regs before;

	if (t->no_cpuid)
		return -EFAULT;
	__asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(subleaf));
	isa_mask_cpuid(leaf, subleaf, r);
	shot_regs(t->cpu, &before);
	cpu_set_gpr(t->cpu, RAX, r[CPUID_EAX]);
	cpu_set_gpr(t->cpu, RBX, r[CPUID_EBX]);
	cpu_set_gpr(t->cpu, RCX, r[CPUID_ECX]);
	cpu_set_gpr(t->cpu, RDX, r[CPUID_EDX]);
	sampling_emulated(t, &before);
	return 0;
}
