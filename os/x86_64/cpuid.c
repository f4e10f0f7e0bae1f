/* See cpuid.h. */
#include "os/x86_64/cpuid.h"

#include <asm-generic/errno-base.h>
#include "dbt/code_memory.h"
#include "isa/level.h"
#include "os/session/handover.h"
#include "os/session/process.h"
#include "perf/perf.h"
#include "rt/stats.h"
#include "rt/string.h"

#define LEAF_VENDOR	0u
#define VENDOR_AMD	0x68747541u /* in ebx: "Auth" */
#define VENDOR_HYGON	0x6f677948u /* "Hygo" */
#define LEAF_CACHES	4u
#define LEAF_FEATURES	7u
#define HYBRID		(1u << 15) /* subleaf 0, edx: CPUs of several kinds */
#define LEAF_XSAVE	0xdu
#define HAS_XGETBV_1	4u /* subleaf 1, eax */
#define LEAF_CACHES_AMD 0x8000001du
#define RDRAND		(1u << 30) /* leaf 1, ecx */
#define RDSEED		(1u << 18) /* leaf 7, ebx */

/* ---- what the processor says ---- */

/*
 * A virtual machine takes microseconds for each cpuid, and the C library executes some twenty when a program starts.
 * What cannot change is asked for once, by a program for all that it executes: leaves of features, and on each CPU
 * those of caches, and the one with the CPU's number. Others are asked for each time: they are about where in the
 * machine the CPU is, or the hypervisor's.
 */
enum keep { KEEP_NOT, KEEP_FOR_CPU, KEEP_FOR_ALL };

static enum keep how_kept(u32 leaf)
{
	switch (leaf) {
	case 0: /* the maker */
	case LEAF_FEATURES:
	case LEAF_XSAVE:
	case 0x14: /* processor trace */
	case 0x19: /* key locker */
	case 0x80000000: /* to 4: features and the name */
	case 0x80000001:
	case 0x80000002:
	case 0x80000003:
	case 0x80000004:
	case 0x80000007: /* and 8: more features, sizes of addresses */
	case 0x80000008:
		return KEEP_FOR_ALL;
	case 1: /* with the number */
	case 2:
	case LEAF_CACHES:
	case 0x80000005: /* and 6: caches, too */
	case 0x80000006:
	case LEAF_CACHES_AMD:
		return KEEP_FOR_CPU;
	default:
		return KEEP_NOT;
	}
}

/* 0x19 has none, but where it is beyond the last leaf, Intel's processors answer as for that one. */
static bool has_subleaves(u32 leaf)
{
	return leaf == LEAF_CACHES || leaf == LEAF_FEATURES || leaf == LEAF_XSAVE || leaf == 0x14 || leaf == 0x19 ||
	       leaf == LEAF_CACHES_AMD;
}

struct leaf {
	u32 leaf, subleaf, cpu, r[4];
};

#define ALL_CPUS   (~0u) /* .cpu */
#define LEAF_WORDS (sizeof(struct leaf) / sizeof(u32))

/* Of this program, in the order in which they were asked for; of those handed over: handover.kept[]. */
static struct known {
	struct leaf said;
	bool valid; /* all of it is written */
} known[40];

static u32 nknown; /* taken, each by one thread */
static bool alike; /* the CPUs are of one kind, as far as features go: leaf 7 was asked for */

static bool is_for(const struct leaf *k, u32 leaf, u32 subleaf, bool all, u32 cpu, u32 r[4])
{
	if (k->leaf != leaf || k->subleaf != subleaf || (!all && k->cpu != cpu && k->cpu != ALL_CPUS))
		return false;
	memcpy(r, k->r, sizeof(k->r));
	return true;
}

static bool look_up(u32 leaf, u32 subleaf, bool all, u32 cpu, u32 r[4])
{
	u32 n = MIN(__atomic_load_n(&nknown, __ATOMIC_RELAXED), (u32)ARRAY_SIZE(known));
	struct leaf k;

	for (u32 i = 0; i + LEAF_WORDS <= handover.nkept; i += LEAF_WORDS) {
		memcpy(&k, &handover.kept[i], sizeof(k));
		if (is_for(&k, leaf, subleaf, all, cpu, r))
			return true;
	}
	for (u32 i = 0; i < n; i++)
		if (__atomic_load_n(&known[i].valid, __ATOMIC_ACQUIRE) &&
		    is_for(&known[i].said, leaf, subleaf, all, cpu, r))
			return true;
	return false;
}

static void keep(u32 leaf, u32 subleaf, u32 cpu, const u32 r[4])
{
	u32 i = __atomic_load_n(&nknown, __ATOMIC_RELAXED);

	if (leaf == LEAF_FEATURES && !subleaf)
		__atomic_store_n(&alike, !(r[CPUID_EDX] & HYBRID), __ATOMIC_RELAXED);
	if (i < ARRAY_SIZE(known))
		i = __atomic_fetch_add(&nknown, 1, __ATOMIC_RELAXED);
	if (i >= ARRAY_SIZE(known))
		return;
	known[i].said = (struct leaf){leaf, subleaf, cpu, {r[0], r[1], r[2], r[3]}};
	__atomic_store_n(&known[i].valid, true, __ATOMIC_RELEASE);
}

static void ask(u32 leaf, u32 subleaf, u32 r[4])
{
	stat_inc(cpuids);
	__asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(subleaf));
}

static void processor_says(u32 leaf, u32 subleaf, u32 r[4])
{
	enum keep how = how_kept(leaf);
	u32 cpu = host_current_cpu();

	if (how == KEEP_NOT) {
		ask(leaf, subleaf, r);
		return;
	}
	if (!has_subleaves(leaf))
		subleaf = 0;
	if (look_up(leaf, subleaf, how == KEEP_FOR_ALL && __atomic_load_n(&alike, __ATOMIC_RELAXED), cpu, r))
		return;
	ask(leaf, subleaf, r);
	if (host_current_cpu() == cpu)
		keep(leaf, subleaf, cpu, r);
}

u32 processor_hand_over(u32 *words)
{
	u32 n = handover.nkept;

	memcpy(words, handover.kept, n * sizeof(u32));
	for (u32 i = 0; i < ARRAY_SIZE(known) && n + LEAF_WORDS <= HANDOVER_KEPT; i++) {
		struct leaf k = known[i].said;

		if (!known[i].valid)
			continue;
		if (alike && how_kept(k.leaf) == KEEP_FOR_ALL)
			k.cpu = ALL_CPUS;
		memcpy(words + n, &k, sizeof(k));
		n += LEAF_WORDS;
	}
	return n;
}

/* ---- what the guest is told ---- */

static void show(u32 leaf, u32 subleaf, u32 r[4])
{
	enum isa_level level = the_process.config.cpu_level;

	if (!level || leaf == LEAF_XSAVE) {
		processor_says(leaf, subleaf, r);
		isa_mask_cpuid(leaf, subleaf, r);
	}
	if (level)
		isa_level_cpuid(level, leaf, subleaf, r);
	if (held_still(PIN_RANDOM) && leaf == 1)
		r[CPUID_ECX] &= ~RDRAND;
	if (held_still(PIN_RANDOM) && leaf == LEAF_FEATURES && !subleaf)
		r[CPUID_EBX] &= ~RDSEED;
}

bool cpuid_has_sysenter(void)
{
	u32 r[4];

	show(LEAF_VENDOR, 0, r);
	return r[CPUID_EBX] != VENDOR_AMD && r[CPUID_EBX] != VENDOR_HYGON;
}

int cpuid_emulate(struct thread *t)
{
	u32 leaf = (u32)cpu_get_gpr(t->cpu, RAX), subleaf = (u32)cpu_get_gpr(t->cpu, RCX), r[4];
	struct snapshot_regs before;

	if (t->no_cpuid)
		return -EFAULT;
	show(leaf, subleaf, r);
	code_memory_serialize(); /* as cpuid does */
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

/* xgetbv with ecx = 1. */
static bool has_xgetbv_1(void)
{
	u32 r[4];

	processor_says(LEAF_XSAVE, 1, r);
	return r[CPUID_EAX] & HAS_XGETBV_1;
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
