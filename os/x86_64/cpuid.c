/* See cpuid.h. */
#include "os/x86_64/cpuid.h"

#include <asm-generic/errno-base.h>
#include "dbt/code_memory.h"
#include "isa/level.h"
#include "os/session/process.h"
#include "perf/perf.h"
#include "rt/string.h"

#define LEAF_XSAVE 0xdu
#define RDRAND	   (1u << 30) /* leaf 1, ecx */
#define RDSEED	   (1u << 18) /* leaf 7, ebx */

static void execute(u32 leaf, u32 subleaf, u32 r[4])
{
	enum isa_level level = the_process.config.cpu_level;

	if (!level || leaf == LEAF_XSAVE) {
		__asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(subleaf));
		isa_mask_cpuid(leaf, subleaf, r);
	}
	if (level)
		isa_level_cpuid(level, leaf, subleaf, r);
	if (held_still(PIN_RANDOM) && leaf == 1)
		r[CPUID_ECX] &= ~RDRAND;
	if (held_still(PIN_RANDOM) && leaf == 7 && !subleaf)
		r[CPUID_EBX] &= ~RDSEED;
}

/*
 * A virtual machine takes some microseconds for each, and the C library asks a dozen times for the same of these in
 * each start. They have no subleaves, and change with nothing but the CPU, if that.
 */
static bool is_kept(u32 leaf)
{
	return leaf == 2 || (leaf >= 0x80000000u && leaf <= 0x80000008u);
}

static void look_up(struct thread *t, u32 leaf, u32 r[4])
{
	struct known_leaf *k = &t->known_leaf[leaf % KNOWN_LEAVES];
	u32 cpu = host_current_cpu();

	if (k->leaf == leaf && k->cpu == cpu) {
		memcpy(r, k->r, sizeof(k->r));
		code_memory_serialize(); /* as cpuid is */
		return;
	}
	execute(leaf, 0, r);
	if (host_current_cpu() != cpu)
		return;
	k->leaf = leaf;
	k->cpu = cpu;
	memcpy(k->r, r, sizeof(k->r));
}

#define HAS_XGETBV_1 4u /* CPUID leaf 0xd, subleaf 1, eax */

int cpuid_emulate(struct thread *t)
{
	u32 leaf = (u32)cpu_get_gpr(t->cpu, RAX), subleaf = (u32)cpu_get_gpr(t->cpu, RCX), r[4];
	struct snapshot_regs before;

	if (t->no_cpuid)
		return -EFAULT;
	if (is_kept(leaf))
		look_up(t, leaf, r);
	else
		execute(leaf, subleaf, r);
	perf_regs(t->cpu, &before);
	cpu_set_gpr(t->cpu, RAX, r[CPUID_EAX]);
	cpu_set_gpr(t->cpu, RBX, r[CPUID_EBX]);
	cpu_set_gpr(t->cpu, RCX, r[CPUID_ECX]);
	cpu_set_gpr(t->cpu, RDX, r[CPUID_EDX]);
	perf_emulated(t, &before, 2);
	return 0;
}

/* Vector state stays in the registers while the runtime runs, so what is in use is the guest's. */
static u64 xgetbv(u32 ecx)
{
	u32 lo, hi;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(ecx));
	return lo | (u64)hi << 32;
}

/* xgetbv with ecx = 1. Asked once: under a hypervisor cpuid is slow. */
static bool has_xgetbv_1(void)
{
	static u8 answer; /* 0: not known yet */
	u32 a = 0xd, b, c = 1, d;

	if (!answer) {
		__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
		answer = a & HAS_XGETBV_1 ? 2 : 1;
	}
	return answer == 2;
}

int xgetbv_emulate(struct thread *t)
{
	u32 ecx = (u32)cpu_get_gpr(t->cpu, RCX);
	struct snapshot_regs before;
	u64 value;

	if (ecx > 1 || (ecx == 1 && (the_process.config.cpu_level || !has_xgetbv_1())))
		return -EFAULT;
	value = isa_mask_xcr0(xgetbv(ecx));
	if (the_process.config.cpu_level)
		value = isa_level_xcr0(the_process.config.cpu_level, value);
	perf_regs(t->cpu, &before);
	cpu_set_gpr(t->cpu, RAX, (u32)value);
	cpu_set_gpr(t->cpu, RDX, value >> 32);
	perf_emulated(t, &before, 3);
	return 0;
}
