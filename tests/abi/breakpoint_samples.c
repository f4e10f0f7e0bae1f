/*
 * Samples of breakpoints: execution ones have the instruction's own address, data ones that of the next instruction (a
 * string instruction's own until it is done), ADDR is the breakpoint's; periods; registers are those at that point.
 */
#include "tests/abi/breakpoint.h"

static _Alignas(64) char buf[4096];

extern char st_store[], st_after[], st_rep[], st_rep_after[], st_exec[], st_exec_rep[], st_loop[];

#define REG_AX 0 /* bits of attr.sample_regs_intr: asm/perf_regs.h */
#define REG_CX 2

static struct bp_ring open_ring(u32 type, const void *addr, u64 period, u64 sample_type)
{
	struct perf_attr a = bp_attr(type, addr, 8);

	a.sample_period = period;
	a.sample_type = sample_type;
	if (sample_type & PERF_SAMPLE_REGS_INTR)
		a.sample_regs_intr = 1 << REG_AX | 1 << REG_CX;
	return bp_ring_open(&a);
}

static void store(void)
{
	struct bp_ring r =
		open_ring(HW_BREAKPOINT_W, buf + 64, 1, PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_INTR);
	const u64 *s;

	__asm__ volatile("mov $1, %%eax\n"
			 "mov $7, %%ecx\n"
			 "st_store: movb $1, %0\n"
			 "st_after: mov $2, %%eax\n"
			 : "=m"(buf[66])
			 :
			 : "rax", "rcx", "memory");
	s = bp_next(&r);
	expect(s != NULL, 1);
	if (s) {
		expect(s[0], (long)st_after);
		expect(s[1], (long)(buf + 64));
		expect(s[2], PERF_SAMPLE_REGS_ABI_64);
		expect(s[3], 1);
		expect(s[4], 7);
	}
	expect(bp_next(&r) == NULL, 1);
	bp_ring_close(&r);
}

static void string(void)
{
	struct bp_ring r = open_ring(HW_BREAKPOINT_W, buf + 64, 1, PERF_SAMPLE_IP | PERF_SAMPLE_REGS_INTR);
	void *to = buf + 58;
	long n = 14; /* to the last watched byte */
	const u64 *s;

	__asm__ volatile("st_rep: rep stosb\n"
			 "st_rep_after: nop\n"
			 : "+c"(n), "+D"(to)
			 : "a"(0)
			 : "memory");
	for (int i = 0; i < 8; i++) {
		s = bp_next(&r);
		expect(s != NULL, 1);
		if (!s)
			break;
		expect(s[0], (long)(i == 7 ? st_rep_after : st_rep));
		expect(s[3], 7 - i);
	}
	expect(bp_next(&r) == NULL, 1);
	bp_ring_close(&r);
}

static void execution(void)
{
	struct bp_ring r =
		open_ring(HW_BREAKPOINT_X, st_exec, 1, PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_INTR);
	struct bp_ring rep = open_ring(HW_BREAKPOINT_X, st_exec_rep, 1, PERF_SAMPLE_IP);
	void *to = buf + 58;
	long n = 14;
	const u64 *s;

	__asm__ volatile("mov $3, %%eax\n"
			 "st_loop: st_exec: dec %%eax\n"
			 "jnz st_loop\n"
			 "st_exec_rep: rep stosb\n"
			 : "+c"(n), "+D"(to)
			 :
			 : "rax", "memory");
	for (int i = 0; i < 3; i++) {
		s = bp_next(&r);
		expect(s != NULL, 1);
		if (!s)
			break;
		expect(s[0], (long)st_exec);
		expect(s[1], (long)st_exec);
		expect(s[3], 3 - i);
	}
	expect(bp_next(&r) == NULL, 1);
	s = bp_next(&rep);
	expect(s && s[0] == (u64)st_exec_rep, 1);
	expect(bp_next(&rep) == NULL, 1);
	bp_ring_close(&rep);
	bp_ring_close(&r);
}

static void store_times(int n)
{
	for (int i = 0; i < n; i++)
		*(volatile long *)(buf + 64) = i;
}

static void periods(void)
{
	struct bp_ring r = open_ring(HW_BREAKPOINT_W, buf + 64, 3, PERF_SAMPLE_IP);

	store_times(7);
	expect(bp_next(&r) != NULL, 1);
	expect(bp_next(&r) != NULL, 1);
	expect(bp_next(&r) == NULL, 1);
	store_times(2);
	expect(bp_next(&r) != NULL, 1);
	expect(bp_next(&r) == NULL, 1);
	expect(perf_value(r.fd), 9);
	bp_ring_close(&r);
}

int main(void)
{
	bp_skip_without();
	store();
	string();
	execution();
	periods();
	return perf_result();
}
