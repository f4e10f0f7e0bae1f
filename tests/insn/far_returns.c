/*
 * lret, iret and the software breakpoints: where they lead, what they do to rsp and the flags, where the address in a
 * signal frame is that comes after them, whatever follows.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static int failures;
static volatile long trap_rip, trap_no, fault_err;
static volatile int traps;

static void expect(const char *what, long got, long want)
{
	if (got == want)
		return;
	printf("%s: %#lx, expected %#lx\n", what, got, want);
	failures++;
}

static void on_trap(int signo, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	trap_rip = g[REG_RIP];
	trap_no = g[REG_TRAPNO];
	traps++;
}

/* On to the address in rdx. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	trap_rip = g[REG_RIP];
	trap_no = g[REG_TRAPNO];
	fault_err = g[REG_ERR];
	g[REG_RIP] = g[REG_RDX];
	g[REG_RSP] = g[REG_R15];
}

#define SELECTORS "mov %%cs, %%r8d; mov %%ss, %%r9d; "
#define CLOBBERS "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r15", "cc", "memory"

static void test_lret(void)
{
	long moved, flags;

	/* All status flags are set, and stay. */
	__asm__ volatile(
		"mov %%rsp, %%r15; sub $256, %%rsp; " SELECTORS
		"push %%r8; lea 1f(%%rip), %%rax; push %%rax; mov %%rsp, %%rcx; pushq $0xad7; popfq; lretq; ud2; "
		"1: pushfq; pop %%rax; mov %%rsp, %%rdx; sub %%rcx, %%rdx; mov %%r15, %%rsp"
		: "=d"(moved), "=a"(flags)::"rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r15", "cc", "memory");
	expect("lretq moves rsp", moved, 16);
	expect("lretq keeps flags", flags & 0x8d5, 0x8d5);
	__asm__ volatile("mov %%rsp, %%r15; sub $256, %%rsp; " SELECTORS
			 "push %%r8; lea 1f(%%rip), %%rax; push %%rax; mov %%rsp, %%rcx; lretq $24; ud2; "
			 "1: mov %%rsp, %%rdx; sub %%rcx, %%rdx; mov %%r15, %%rsp"
			 : "=d"(moved)::"rax", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r15", "cc", "memory");
	expect("lretq $24 moves rsp", moved, 40);
}

/* A loop over far returns: they come again. */
static void test_iret(void)
{
	long rsp, flags, rounds = 0;

	for (int i = 0; i < 1000; i++) {
		__asm__ volatile("mov %%rsp, %%r15; sub $256, %%rsp; " SELECTORS
				 "push %%r9; lea -64(%%r15), %%rax; push %%rax; pushq $0xad7; push %%r8; lea "
				 "1f(%%rip), %%rax; push %%rax; "
				 "iretq; ud2; 1: pushfq; pop %%rax; lea (%%rsp), %%rdx; sub %%r15, %%rdx; mov %%r15, "
				 "%%rsp; incq %2"
				 : "=d"(rsp), "=a"(flags), "+m"(rounds)::"rcx", "rsi", "rdi", "r8", "r9", "r10", "r11",
				   "r15", "cc", "memory");
		expect("iretq sets rsp", rsp, -64);
		expect("iretq sets flags", flags & 0x8d5, 0x8d5);
		expect("iretq sets the interrupt flag", flags & 0x200, 0x200);
		__asm__ volatile("cld");
	}
	expect("rounds", rounds, 1000);
}

/* 32-bit operands: both halves lie below 4 GiB. */
static void test_short(void)
{
	static const unsigned char code[] = {0x6a, 0, 0xc7, 0x04, 0x24, 0, 0, 0, 0, /* push 0; movl $target, (%rsp) */
					     0x8c, 0x4c, 0x24, 0x04,		     /* mov %cs, 4(%rsp) */
					     0xcb, 0x0f, 0x0b,			     /* lretl; ud2 */
					     0x31, 0xc0, 0xff, 0xc0, 0xc3};	     /* xor, inc %eax; ret */
	unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int target = (int)(long)at + 16;

	if (at == MAP_FAILED)
		return;
	memcpy(at, code, sizeof(code));
	memcpy(at + 5, &target, 4);
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	expect("lretl", ((int (*)(void))at)(), 1);
	munmap(at, 4096);
}

static void test_refused(void)
{
	long at;

	/* The kernel's code segment, an empty selector, and one of the interrupt table: #GP with the selector. */
	for (unsigned long i = 0; i < 3; i++) {
		static const unsigned long selectors[] = {0x10, 0, 0x18};

		__asm__ volatile("mov %%rsp, %%r15; lea 2f(%%rip), %%rdx; push %1; lea 2f(%%rip), %%rax; push %%rax; "
				 "lea 1f(%%rip), %0; 1: lretq; 2: "
				 : "=&b"(at)
				 : "r"(selectors[i])
				 : CLOBBERS);
		expect("a refused lretq is where the fault is", trap_rip, at);
		expect("#GP", trap_no, 13);
		expect("its selector", fault_err, (long)selectors[i] & 0xfffc);
	}
	/* The frame cannot be read. */
	__asm__ volatile("mov %%rsp, %%r15; lea 2f(%%rip), %%rdx; lea 1f(%%rip), %0; "
			 "mov $4096, %%esp; 1: iretq; 2: "
			 : "=&b"(at)::CLOBBERS);
	expect("an iretq without a frame", trap_rip, at);
	expect("#PF", trap_no, 14);
}

extern char int3_at[], int_n_at[];

static void test_breakpoints(void)
{
	traps = 0;
	__asm__ volatile("int3_at: int3; jmp 1f; .skip 100, 0xcc; 1:");
	expect("behind int3", trap_rip - (long)int3_at, 1);
	__asm__ volatile("int_n_at: .byte 0xcd, 3; jmp 1f; .skip 100, 0xcc; 1:");
	expect("behind int $3", trap_rip - (long)int_n_at, 2);
	for (int i = 0; i < 100; i++)
		__asm__ volatile("int3; call 1f; jmp 2f; 1: int3; ret; 2: int3; jnz 3f; 3:");
	expect("traps", traps, 302);
	/* What comes behind the breakpoint in translated code depends on where that lies. */
	traps = 0;
	__asm__ volatile(".set n, 0\n .rept 64\n .skip n, 0x90\n int3\n .set n, n + 1\n .endr\n"
			 ".set n, 0\n .rept 64\n .skip n, 0x90\n jo 9f\n int3\n 9: .set n, n + 1\n .endr");
	expect("traps everywhere", traps, 128);
}

static void catch(int signo, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	sigaction(signo, &act, NULL);
}

int main(void)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};

	alarm(30); /* a trap that is reported too early comes again and again */
	sigaltstack(&stack, NULL);
	catch(SIGTRAP, on_trap);
	catch(SIGSEGV, on_fault);
	test_lret();
	test_iret();
	test_short();
	test_refused();
	test_breakpoints();
	return failures != 0;
}
