/* A program, and the fields of its samples as text that is the same from run to run; see samples.c. Included once. */
#ifndef TESTS_TRANSPARENCY_PRINT_SAMPLE_H
#define TESTS_TRANSPARENCY_PRINT_SAMPLE_H

#include <asm/perf_regs.h>
#include "tests/abi/breakpoint.h"
#include "tests/abi/parse_sample.h"

#define NAMES 64
#define REGS (1ul << PERF_REG_X86_DI | 1ul << PERF_REG_X86_SI | 1ul << PERF_REG_X86_SP | 1ul << PERF_REG_X86_IP | \
	      1ul << PERF_REG_X86_FLAGS | 1ul << PERF_REG_X86_CS | 1ul << PERF_REG_X86_SS | 1ul << PERF_REG_X86_R15)
#define FLAGS_SHOWN 0xed5 /* the arithmetic ones, IF and DF */

extern char __executable_start[], etext[];

/* ---- the program that is sampled ---- */

static volatile long watched;

NOINLINE static long target(long a, long b)
{
	return a + b;
}

NOINLINE static long middle(long n)
{
	watched = n;
	return target(n, 2 * n) + 1;
}

NOINLINE static long caller(long n)
{
	return middle(n) + 1;
}

static void run(long times)
{
	for (long i = 1; i <= times; i++)
		caller(i);
}

/* ---- names for what changes ---- */

struct names {
	u64 seen[NAMES];
};

static struct names tasks, ids;

static unsigned name_of(struct names *names, u64 what)
{
	unsigned i;

	for (i = 0; i < NAMES && names->seen[i] && names->seen[i] != what; i++)
		;
	if (i < NAMES)
		names->seen[i] = what;
	return i;
}

static void print_address(u64 at)
{
	static const struct {
		const char *name;
		const volatile void *at;
	} known[] = {{"target", target}, {"middle", middle}, {"caller", caller}, {"run", run}, {"watched", &watched}};
	u64 best = 0;
	unsigned which = 0;

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if ((u64)known[i].at <= at && (u64)known[i].at > best) {
			best = (u64)known[i].at;
			which = i;
		}
	if (!at || at == (u64)PERF_CONTEXT_USER)
		printf(" %ld", (long)at);
	else if (best && at - best < 256)
		printf(" %s+%lx", known[which].name, (unsigned long)(at - best));
	else if (at >= (u64)__executable_start && at < (u64)etext)
		printf(" program");
	else
		printf(" elsewhere");
}

/* ---- fields ---- */

static void print_read(const struct parsed *p, u64 format)
{
	printf(" read %lu:", (unsigned long)p->nr);
	for (u64 i = 0; i < p->nr && i < 16; i++) {
		printf(" %lu", (unsigned long)p->value[i]);
		if (format & PERF_FORMAT_ID)
			printf(" id %u", name_of(&ids, p->value_id[i]));
		if (format & PERF_FORMAT_LOST)
			printf(" lost %lu", (unsigned long)p->lost[i]);
	}
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		printf(" enabled %d", p->enabled > 0);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		printf(" running %d", p->running > 0);
}

/* As far as the program's own frames go: libc has no frame pointers. */
static void print_chain(const struct parsed *p)
{
	printf(" chain");
	for (u64 i = 0; i < p->chain_nr; i++) {
		print_address(p->chain[i]);
		if (i > 1 && (p->chain[i] < (u64)__executable_start || p->chain[i] >= (u64)etext))
			break;
	}
}

/* DI, SI, SP, IP, FLAGS, CS, SS, R15 stand in the order of their numbers; the last is whatever the loader left. */
static void print_regs(const char *which, const u64 *regs, u64 abi)
{
	printf(" %s %lu", which, (unsigned long)abi);
	if (!abi)
		return;
	printf(" si %ld di %ld ip", (long)regs[0], (long)regs[1]);
	print_address(regs[3]);
	printf(" flags %lx cs %lx ss %lx", (unsigned long)(regs[4] & FLAGS_SHOWN), (unsigned long)regs[5],
	       (unsigned long)regs[6]);
}

/* Each sample of an execution breakpoint is at the start of a function: there lies the return address. */
static void print_stack(const struct parsed *p)
{
	u64 ret = 0;

	memcpy(&ret, p->stack, p->stack_size >= 8 ? 8 : 0);
	printf(" stack %lu of %lu", (unsigned long)p->dyn_size, (unsigned long)p->stack_size);
	print_address(ret);
}

static void print_first(const struct parsed *p, u64 type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		printf(" identifier %u", name_of(&ids, p->identifier));
	if (type & PERF_SAMPLE_IP) {
		printf(" ip");
		print_address(p->ip);
	}
	if (type & PERF_SAMPLE_TID) {
		printf(" task %u", name_of(&tasks, p->pid));
		printf("/%u", name_of(&tasks, p->tid));
	}
	if (type & PERF_SAMPLE_ADDR) {
		printf(" addr");
		print_address(p->addr);
	}
	if (type & PERF_SAMPLE_ID)
		printf(" id %u", name_of(&ids, p->id));
	if (type & PERF_SAMPLE_STREAM_ID)
		printf(" stream %u", name_of(&ids, p->stream_id));
	if (type & PERF_SAMPLE_CPU)
		printf(" cpu %d res %lu", p->cpu < (u64)sysconf(_SC_NPROCESSORS_CONF), (unsigned long)p->res);
	if (type & PERF_SAMPLE_PERIOD)
		printf(" period %lu", (unsigned long)p->period);
}

static void print_rest(const struct parsed *p, const struct perf_attr *attr)
{
	u64 type = attr->sample_type;

	if (type & PERF_SAMPLE_READ)
		print_read(p, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		print_chain(p);
	if (type & PERF_SAMPLE_RAW)
		printf(" raw %lu %lx", (unsigned long)p->raw_size, (unsigned long)p->raw_data);
	if (type & PERF_SAMPLE_REGS_USER)
		print_regs("user", p->regs_user, p->abi_user);
	if (type & PERF_SAMPLE_STACK_USER)
		print_stack(p);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		printf(" weight %lx", (unsigned long)p->weight);
	if (type & PERF_SAMPLE_DATA_SRC)
		printf(" data_src %lx", (unsigned long)p->data_src);
	if (type & PERF_SAMPLE_TRANSACTION)
		printf(" txn %lx", (unsigned long)p->txn);
	if (type & PERF_SAMPLE_REGS_INTR)
		print_regs("intr", p->regs_intr, p->abi_intr);
	if (type & PERF_SAMPLE_CGROUP)
		printf(" cgroup %lx", (unsigned long)p->cgroup);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		printf(" data page %lu", (unsigned long)p->data_page_size);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		printf(" code page %lu", (unsigned long)p->code_page_size);
}

#endif
