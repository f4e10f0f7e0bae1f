/*
 * Instructions as no compiler writes them, and what a handler sees of flags and of the x87 unit: as natively, on
 * whatever processor.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define FAR ((void *)0x100000000000)
#define ID  0x200000u
#define NT  0x4000u

extern char faulting_x87[];

static unsigned char *code;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;

	printf("signal %d, code %d, at %ld, flags %llx", sig, info->si_code, (long)g[REG_RIP] - (long)code,
	       g[REG_EFL] & (ID | NT));
	if (sig == SIGFPE)
		printf(", x87 instruction at %ld", (long)(uc->uc_mcontext.fpregs->rip - (uintptr_t)faulting_x87));
	printf("\n");
	fflush(stdout);
	_Exit(0);
}

/* In a child, as it may end in a signal. */
static void in_child(const char *what, void (*fn)(void))
{
	struct sigaction a = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	printf("%s: ", what);
	fflush(stdout);
	if (fork() == 0) {
		sigaction(SIGILL, &a, NULL);
		sigaction(SIGFPE, &a, NULL);
		sigaction(SIGSEGV, &a, NULL);
		sigaction(SIGTRAP, &a, NULL);
		fn();
		fflush(stdout);
		_Exit(0);
	}
	wait(NULL);
}

static void *put(void *at, const char *bytes, size_t n)
{
	code = mmap(at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, bytes, n);
	return code;
}

/* A segment prefix in front of an instruction without memory. */
static void segment_prefix(void)
{
	static const char text[] = "\x49\xc7\xc3\x05\x00\x00\x00" /* mov $5, %r11 */
				   "\x31\xc0\x39\xc0"		  /* xor %eax, %eax; cmp %eax, %eax */
				   "\x64\x4c\x01\xd8"		  /* fs add %r11, %rax */
				   "\x65\x49\x0f\x44\xc3"	  /* gs cmovz %r11, %rax */
				   "\xc3";

	printf("%d\n", ((int (*)(void))put(NULL, text, sizeof(text)))());
}

/* Relative to rip, where that is out of reach, and no other register can be named than with a REX prefix. */
static void high_byte(void)
{
	static const char text[] = "\xb8\x34\x12\x00\x00"	   /* mov $0x1234, %eax */
				   "\x88\x25\x01\x00\x00\x00\xc3"; /* mov %ah, 1(%rip); ret */

	((void (*)(void))put(FAR, text, sizeof(text)))();
	printf("%x\n", code[12]);
}

static void long_insn(void)
{
	static const char text[] =
		"\x2e\x2e\x2e\x2e\x2e\x66\xc7\x05\x02\x00\x00\x00\x34\x12" /* movw $0x1234, 2(%rip) */
		"\xc3\x90";

	((void (*)(void))put(FAR, text, sizeof(text)))();
	printf("%x%x\n", code[17], code[16]);
}

/* How often the loop is run. */
static void loop_with(unsigned char prefix, unsigned char opcode)
{
	unsigned char text[] = {0xb9,	5,	0,    0, 0, /* mov $5, %ecx */
				0x31,	0xc0,		    /* xor %eax, %eax */
				0xff,	0xc0,		    /* 1: inc %eax */
				0x83,	0xf8,	3,	    /* cmp $3, %eax */
				prefix, opcode, 0xf8,	    /* loop 1b */
				0xc3};

	printf("%d ", ((int (*)(void))put(NULL, (char *)text, sizeof(text)))());
}

static void loops(void)
{
	static const unsigned char prefixes[] = {0x3e, 0x67, 0xf2, 0xf3, 0x48};

	for (size_t i = 0; i < sizeof(prefixes); i++)
		for (unsigned char opcode = 0xe0; opcode <= 0xe2; opcode++)
			loop_with(prefixes[i], opcode);
	printf("\n");
}

/* What looks like a conditional jump behind a VEX prefix. */
static void vex_jump(void)
{
	((void (*)(void))put(NULL, "\xc5\xf8\x84\x00\x00\x00\x00\xc3", 8))();
	printf("went on\n");
}

/* Where there are transactions it aborts, and goes on at the same place. */
static void transaction(void)
{
	static const char text[] = "\xc7\xf8\x03\x00\x00\x00" /* xbegin 1f */
				   "\xc6\xf8\x00"		 /* xabort $0 */
				   "\xb8\x07\x00\x00\x00\xc3"; /* 1: mov $7, %eax; ret */

	printf("%d\n", ((int (*)(void))put(NULL, text, sizeof(text)))());
}

/* Both prefixes: the second one decides, eight bytes. */
static void popf_by_both(void)
{
	static const char text[] = "\x9c\x58\x48\x0d\x00\x01\x00\x00" /* pushf; pop %rax; or $TF, %rax */
				   "\x50\x66\x48\x9d"		      /* push %rax; popfq */
				   "\x90\xc3";

	((void (*)(void))put(NULL, text, sizeof(text)))();
	printf("went on\n");
}

static void flags_in_frame(void)
{
	static const char text[] = "\x9c\x58\x48\x0d\x00\x40\x20\x00" /* pushf; pop %rax; or $ID|NT, %rax */
				   "\x50\x9d\x0f\x0b";		      /* push %rax; popf; ud2 */

	((void (*)(void))put(NULL, text, sizeof(text)))();
}

/* The exception comes with the next x87 instruction; the frame says which one has it. */
static void x87_exception(void)
{
	static const uint16_t unmasked = 0x37b; /* division by zero */

	code = (unsigned char *)faulting_x87;
	asm volatile("fldcw %0\n"
		     "fld1\n"
		     "fldz\n"
		     ".globl faulting_x87\n"
		     "faulting_x87: fdivrp\n"
		     "nop\n"
		     "fwait"
		     :
		     : "m"(unmasked));
	printf("went on\n");
}

int main(void)
{
	in_child("segment prefix", segment_prefix);
	in_child("high byte", high_byte);
	in_child("long instruction", long_insn);
	in_child("loops", loops);
	in_child("VEX jump", vex_jump);
	in_child("transaction", transaction);
	in_child("popf by both prefixes", popf_by_both);
	in_child("flags", flags_in_frame);
	in_child("x87", x87_exception);
	return 0;
}
