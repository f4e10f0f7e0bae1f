/*
 * A translator without a personality: the real cache and tables where they always are, a page range of guest code, one
 * thread. What os/ implements of dbt/dbt.h is here.
 */
#ifndef TESTS_UNIT_DBT_GUEST_H
#define TESTS_UNIT_DBT_GUEST_H

#include <stdlib.h>
#include <sys/mman.h>
#include "cpu/bank.h"
#include "dbt/cache.h"
#include "dbt/dbt.h"
#include "dbt/run.h"
#include "dbt/translate.h"
#include "tests/unit/unit.h"

#define CODE 0x10000000ul
#define CODE_SIZE 0x40000ul
#define STACK_SIZE 0x10000ul

static struct cpu *cpu;
static u8 *guest_stack;

gva dbt_host_alias(gva addr, gva after)
{
	return 0;
}

int dbt_host_mapping(gva addr, struct dbt_mapping *out)
{
	if (addr < CODE || addr >= CODE + CODE_SIZE)
		return -14;
	*out = (struct dbt_mapping){.start = CODE, .end = CODE + CODE_SIZE, .prot = PROT_READ | PROT_EXEC};
	return 0;
}

struct dbt_fault dbt_host_read_fault(gva addr)
{
	return (struct dbt_fault){0};
}

static bool guest_executes; /* it is in execve: left out, as in os/ */

bool dbt_host_any_cpu(bool (*test)(struct cpu *cpu, void *arg), void *arg)
{
	return !guest_executes && test(cpu, arg);
}

bool dbt_host_kernel_writes(gva page)
{
	return false;
}

void dbt_host_own_work(bool begins)
{
}

void dbt_host_notify(void)
{
}

long dbt_host_apart(long (*fn)(void *arg), void *arg)
{
	return fn(arg);
}

/* False: the addresses are taken. */
static bool guest_begin(void)
{
	u8 *pages = mmap(NULL, 6 * PAGE_SIZE + CPU_BANK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	void *code = mmap((void *)CODE, CODE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	guest_stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || code != (void *)CODE || guest_stack == MAP_FAILED || dbt_init())
		return false;
	cpu = (struct cpu *)(pages + 6 * PAGE_SIZE) - 1; /* the bank is on pages of its own behind it */
	dbt_cpu_init(cpu);
	cpu_clear_bank(cpu);
	return true;
}

/* Forgets all code, and takes this for the guest's, at CODE. */
static inline void guest_code(const void *bytes, size_t n)
{
	dbt_invalidate(CODE, CODE + CODE_SIZE);
	memset((void *)CODE, 0x0f, CODE_SIZE); /* 0f 0f 0f: no instruction */
	memcpy((void *)CODE, bytes, n);
}

/* The thread is at pc, in code of that instrumentation. */
static void guest_at(u64 pc, u32 want)
{
	cpu->rip = pc;
	cpu_set_gpr(cpu, RSP, (u64)(guest_stack + STACK_SIZE - 256));
	__atomic_store_n(&cpu_bank(cpu)->want, want, __ATOMIC_RELAXED);
	run_set_variant(cpu, want);
	run_hold_cache(cpu);
}

/* The entry at pc; what there is not yet is translated. */
static inline u32 guest_entry(u64 pc, u32 want)
{
	struct dbt_fault fault;

	guest_at(pc, want);
	return run_find(cpu, 0, false, &fault);
}

static inline const struct frag *frag_of(u32 entry)
{
	return &cache.frag[cache.entry[entry].frag];
}

/* Where the exit's displacement leads to. */
static inline u32 leads_to(const struct exit *x)
{
	s32 rel;

	memcpy(&rel, (void *)(u64)x->patch, 4);
	return x->patch + 4 + (u32)rel;
}

#endif
