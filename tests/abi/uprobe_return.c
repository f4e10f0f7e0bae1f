/* Probes of returns: recursion, tail calls, calls that are left by longjmp, records. */
#include <setjmp.h>
#include <sys/wait.h>
#include "tests/abi/uprobe.h"

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE long leaf(long a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}

NOINLINE long recursive(long depth)
{
	long below = depth ? recursive(depth - 1) : 0;

	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

/* Jumps to leaf(). */
long to_leaf(long a);
__asm__(".type to_leaf, @function\nto_leaf: nop\n\tjmp leaf\n");
/* Takes 16 bytes off the stack. */
void pops(void);
__asm__(".type pops, @function\npops: nop\n\tret $16\n");

static jmp_buf back;

NOINLINE void leaves(int by_longjmp)
{
	__asm__ volatile("");
	if (by_longjmp)
		longjmp(back, 1);
}

static void counts(void)
{
	long fd = uprobe_open(leaf, UPROBE_RETURN), entries = uprobe_open(leaf, 0), rec;

	for (int i = 0; i < 100; i++)
		leaf(i);
	expect(uprobe_count(fd), 100);
	expect(uprobe_count(entries), 100);
	rec = uprobe_open(recursive, UPROBE_RETURN);
	entries = uprobe_open(recursive, 0);
	expect(recursive(20), 21);
	expect(recursive(0), 1);
	expect(uprobe_count(rec), 22);
	expect(uprobe_count(entries), 22);
}

static void tail_calls(void)
{
	long leafs = uprobe_open(leaf, UPROBE_RETURN), jumps = uprobe_open(to_leaf, UPROBE_RETURN);

	for (int i = 0; i < 10; i++)
		to_leaf(i);
	leaf(0);
	expect(uprobe_count(leafs), 11);
	expect(uprobe_count(jumps), 10);
}

/* The place that it would have returned to is reached all the same, by a jump. */
static void longjmps(void)
{
	long fd = uprobe_open(leaves, UPROBE_RETURN);
	volatile int i;

	for (i = 0; i < 10; i++) {
		if (setjmp(back))
			continue;
		leaves(i % 2);
	}
	expect(uprobe_count(fd), 5);
	fd = uprobe_open(leaves, UPROBE_RETURN);
	for (i = 0; i < 10; i++)
		if (!setjmp(back))
			leaves(1);
	leaves(0);
	expect(uprobe_count(fd), 1);
}

static void call_pops(int n)
{
	while (n--)
		__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpush $1\n\tpush $2\n\tcall pops\n\tlea 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
}

/* Alone, and with a hardware event, if there is one: limits of its periods lie anywhere in the loop. */
static void unusual_returns(void)
{
	long fd = uprobe_open(pops, UPROBE_RETURN), sampling;

	call_pops(5);
	expect(uprobe_count(fd), 5);
	for (u64 period = 50; period < 100; period += 7) {
		struct perf_attr a = {.type = PERF_TYPE_HARDWARE,
				      .size = sizeof(a),
				      .config = PERF_COUNT_HW_INSTRUCTIONS,
				      .sample_period = period,
				      .sample_type = PERF_SAMPLE_IP,
				      .exclude_kernel = 1};

		fd = uprobe_open(pops, UPROBE_RETURN);
		sampling = perf_open(&a, 0, -1, -1, 0);
		call_pops(1000);
		expect(uprobe_count(fd), 1000);
		if (sampling >= 0)
			close((int)sampling);
	}
}

/* A call that was made before the fork returns in both. */
NOINLINE int forks(void)
{
	return fork();
}

static void in_a_child(void)
{
	struct place p = place_of(forks);
	struct perf_attr a = uprobe_at(&p, UPROBE_RETURN);
	long fd, returns;
	int status;
	pid_t pid;

	a.inherit = 1;
	fd = perf_open(&a, 0, -1, -1, 0);
	pid = forks();
	if (!pid)
		_exit(0);
	waitpid(pid, &status, 0);
	expect(status, 0);
	/* Linux has been seen to forget the child's. */
	returns = uprobe_count(fd);
	expect(returns == 1 || returns == 2, 1);
}

static void records(void)
{
	struct place p = place_of(leaf);
	struct uprobe_ring r = uprobe_ring(uprobe_at(&p, UPROBE_RETURN));
	struct uprobe_sample s;
	void *after;

	__asm__ volatile("lea 1f(%%rip), %0\n\tlea -128(%%rsp), %%rsp\n\tcall leaf\n1:\tlea 128(%%rsp), %%rsp"
			 : "=&b"(after)::"memory", "cc", "rax", "rdi");
	expect(uprobe_next(&r, &s), 1);
	expect(s.ip, after);
	expect(s.size, 28);
	expect(s.vaddr[0], leaf);
	expect(s.vaddr[1], after);
	expect(s.pid, getpid());
	expect(uprobe_next(&r, &s), 0);
	uprobe_ring_close(&r);
}

int main(void)
{
	uprobe_skip_without();
	counts();
	tail_calls();
	longjmps();
	unusual_returns();
	in_a_child();
	records();
	return perf_result();
}
