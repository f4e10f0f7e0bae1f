/*
 * Counts of breakpoints: every length and type, accesses that only touch the edge, instructions with several accesses,
 * string instructions (a hit for each iteration), implicit operands, addresses by fs and by the stack pointer.
 * covers: HW_BREAKPOINT_W, HW_BREAKPOINT_RW, HW_BREAKPOINT_X
 */
#include "tests/abi/breakpoint.h"

static _Alignas(64) char buf[4096], other[4096];
static __thread long tls;

static long w, rw;

/* What one action added to a write breakpoint and to a read/write one. */
#define counts(writes, accesses, action)                                                                               \
	do {                                                                                                           \
		long w0 = perf_value(w), rw0 = perf_value(rw);                                                         \
		action;                                                                                                \
		expect(perf_value(w) - w0, writes);                                                                    \
		expect(perf_value(rw) - rw0, accesses);                                                                \
	} while (0)

static void watch(const volatile void *addr, u64 len)
{
	if (w) {
		close((int)w);
		close((int)rw);
	}
	w = bp_open(HW_BREAKPOINT_W, addr, len);
	rw = bp_open(HW_BREAKPOINT_RW, addr, len);
	expect(w >= 0 && rw >= 0, 1);
}

#define AT(type, off) (*(volatile type *)(buf + (off)))

static void lengths(void)
{
	for (int len = 1; len <= 8; len *= 2) {
		int at = 64 + len;

		watch(buf + at, (u64)len);
		counts(1, 1, AT(char, at) = 1);
		counts(1, 1, AT(char, at + len - 1) = 1);
		counts(0, 0, AT(char, at - 1) = 1);
		counts(0, 0, AT(char, at + len) = 1);
		counts(0, 1, (void)AT(char, at));
		counts(0, 0, (void)AT(char, at + len));
		counts(1, 1, AT(long, at - 7) = 1);	    /* its last byte */
		counts(1, 1, AT(long, at + len - 1) = 1); /* its first byte */
		counts(0, 0, AT(long, at - 8) = 1);
		counts(0, 0, AT(long, at + len) = 1);
		counts(0, 1, (void)AT(long, at - 7));
	}
}

static void rep(const char *kind, void *to, void *from, long n)
{
	if (*kind == 'b')
		__asm__ volatile("rep movsb" : "+c"(n), "+D"(to), "+S"(from) : : "memory");
	else if (*kind == 'q')
		__asm__ volatile("rep movsq" : "+c"(n), "+D"(to), "+S"(from) : : "memory");
	else if (*kind == 's')
		__asm__ volatile("rep stosb" : "+c"(n), "+D"(to) : "a"(0) : "memory");
	else if (*kind == 'd')
		__asm__ volatile("std\n\trep stosb\n\tcld" : "+c"(n), "+D"(to) : "a"(0) : "memory");
	else
		__asm__ volatile("repe cmpsb" : "+c"(n), "+D"(to), "+S"(from) : : "memory", "cc");
}

static void strings(void)
{
	memset(buf, 0, sizeof(buf));
	watch(buf + 64, 8);
	counts(8, 8, rep("b", buf, other, 256));
	counts(1, 1, rep("q", buf, other, 32));
	counts(2, 2, rep("q", buf + 60, other, 2));
	counts(0, 8, rep("b", other, buf, 256));
	counts(2, 2, rep("s", buf + 63, NULL, 3));
	counts(0, 0, rep("s", buf, NULL, 64));
	counts(0, 0, rep("s", buf + 72, NULL, 64));
	counts(0, 0, rep("s", buf + 64, NULL, 0));
	counts(3, 3, rep("d", buf + 66, NULL, 64)); /* downwards */
	counts(0, 8, rep("c", buf, other, 256));
	buf[66] = 1;
	counts(0, 3, rep("c", buf, other, 256)); /* ends at the difference */
	counts(8, 16, rep("b", buf + 64, buf + 64 - 8, 16)); /* 8 iterations write it, 8 others read it */
}

static void several_accesses(void)
{
	long one = 1, zero = 0;

	watch(buf + 64, 8);
	counts(1, 1, __asm__ volatile("incq %0" : "+m"(AT(long, 64))));
	counts(1, 1, __asm__ volatile("lock xaddq %1, %0" : "+m"(AT(long, 64)), "+r"(one)));
	counts(1, 1,
	       __asm__ volatile("xorl %%eax, %%eax; lock cmpxchgq %1, %0"
				: "+m"(AT(long, 64))
				: "r"(zero)
				: "rax"));
	counts(1, 2, __asm__ volatile("pushq %0; popq %0" : "+m"(AT(long, 64))));
	counts(1, 1, __asm__ volatile("movsq" : : "S"(other), "D"(buf + 64) : "memory"));
	counts(0, 1, __asm__ volatile("xlat" : : "b"(buf), "a"(65) : "memory"));
	counts(0, 1, __asm__ volatile("btq %1, %0" : : "m"(AT(long, 0)), "r"(64l * 8) : "cc"));
	counts(0, 0, __asm__ volatile("btq %1, %0" : : "m"(AT(long, 64)), "r"(64l * 8) : "cc"));
	counts(1, 1, __asm__ volatile("movups %%xmm0, %0" : "=m"(AT(char, 56))));
	counts(1, 1, __asm__ volatile("fxsave %0" : "=m"(AT(char, 0))));
	counts(0, 0, __asm__ volatile("lea %0, %%rax; nopw %0; prefetcht0 %0" : : "m"(AT(char, 64)) : "rax"));
}

/* Pushes, pops, calls and returns, with the watched word at or below the stack pointer. */
static void stack(void)
{
	void *sp = buf + 72;

	watch(buf + 64, 8);
	counts(1, 2,
	       __asm__ volatile("mov %%rsp, %%rbx; mov %0, %%rsp; push %%rax; pop %%rax; mov %%rbx, %%rsp"
				:
				: "r"(sp)
				: "rbx", "memory"));
	counts(1, 2,
	       __asm__ volatile("mov %%rsp, %%rbx; mov %0, %%rsp; call 1f; mov %%rbx, %%rsp; jmp 2f; 1: ret; 2:"
				:
				: "r"(sp)
				: "rbx", "memory"));
}

static void segments_and_flags(void)
{
	long value = 0, carry = 0;

	watch(&tls, 8);
	counts(1, 1, *(volatile long *)&tls = 1);
	counts(1, 2, ++*(volatile long *)&tls);
	/* The flags go through the check unharmed. */
	watch(buf + 64, 8);
	AT(long, 64) = 5;
	counts(0, 1,
	       __asm__ volatile("stc; mov %2, %0; adc $0, %1" : "=&r"(value), "+r"(carry) : "m"(AT(long, 64)) : "cc"));
	expect(value, 5);
	expect(carry, 1);
	counts(0, 1,
	       __asm__ volatile("mov $0x7f, %%al; add $1, %%al; mov %2, %0; seto %b1"
				: "=&r"(value), "+r"(carry)
				: "m"(AT(long, 64))
				: "cc", "rax"));
	expect(carry & 255, 1);
}

NOINLINE static long called(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static void execution(void)
{
	long fd = bp_open(HW_BREAKPOINT_X, (void *)called, 8), again = bp_open(HW_BREAKPOINT_X, (void *)called, 8),
	     n = 0;

	for (int i = 0; i < 1000; i++)
		n = called(n);
	expect(n, 1000);
	expect(perf_value(fd), 1000);
	expect(perf_value(again), 1000);
	close((int)again);
	n = called(n);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	n = called(n);
	expect(perf_value(fd), 1001);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	n = called(n);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	n = called(n);
	expect(perf_value(fd), 1);
	close((int)fd);
	expect(called(n), 1005);
}

/* In the middle of a block, at a loop's head, and on an instruction with data breakpoints too. */
static void execution_inside(void)
{
	extern char bp_middle[], bp_head[], bp_store[];
	long middle = bp_open(HW_BREAKPOINT_X, bp_middle, 8), head = bp_open(HW_BREAKPOINT_X, bp_head, 8);
	long store = bp_open(HW_BREAKPOINT_X, bp_store, 8), data = bp_open(HW_BREAKPOINT_W, buf + 64, 8);

	__asm__ volatile("mov $10, %%ecx\n"
			 "bp_head: nop\n"
			 "nop\n"
			 "bp_middle: add $1, %%eax\n"
			 "bp_store: movb $1, %0\n"
			 "dec %%ecx\n"
			 "jnz bp_head\n"
			 : "=m"(AT(char, 64))
			 :
			 : "rax", "rcx", "cc");
	expect(perf_value(head), 10);
	expect(perf_value(middle), 10);
	expect(perf_value(store), 10);
	expect(perf_value(data), 10);
	close((int)middle);
	close((int)head);
	close((int)store);
	close((int)data);
}

int main(void)
{
	bp_skip_without();
	lengths();
	strings();
	several_accesses();
	stack();
	segments_and_flags();
	close((int)w);
	close((int)rw);
	execution();
	execution_inside();
	return perf_result();
}
