/*
 * Whether the processor agrees: random instructions are executed, and what isa_decode() said about registers and flags
 * is held against what happened. Independent of Zydis, which was wrong about some.
 *
 *  1. A register or flag that is not written keeps its value.
 *  2. With other values in the registers and flags that are not read, the written registers, the killed flags and
 * memory come out the same.
 *  3. With a register renamed by isa_rename(), and its value moved, the same happens.
 *  4. With its memory operand in a page without access it faults if it is said to load or store, else not.
 *  5. With the rm register in memory by isa_set_mem(), where ISA_NO_MEM_RM allows it, the same happens to the cell.
 *
 * Only instructions that are harmless in this process; those that the processor does not have or that fault are
 * skipped. Repeatable: the seed is fixed, or argv[1]; argv[2] is the count.
 */
#include <cpuid.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/unit/isa/oracle.h"
#include "tests/unit/isa/random_insn.h"

#define ROUNDS	1500000
#define MAX_BAD 30
#define WINDOW	4096 /* memory that instructions are pointed at */
#define RSP	4

struct state {
	u64 gpr[16];
	u64 flags;
};

/* Used by the assembly below. */
struct state guest;
u64 host_rsp;
u64 guest_code;
u64 guest_faulted;
u8 vectors[16384] __attribute__((aligned(64)));

extern char guest_done[], guest_fault[];
void guest_run(void);

__asm__(".text\n"
	"guest_run:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n"
	"	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, host_rsp(%rip)\n"
	"	mov $0xe7, %eax\n	xor %edx, %edx\n"
	"	xrstor64 vectors(%rip)\n"
	"	push guest+128(%rip)\n"
	"	popfq\n"
	"	mov guest+0(%rip), %rax\n	mov guest+8(%rip), %rcx\n	mov guest+16(%rip), %rdx\n"
	"	mov guest+24(%rip), %rbx\n	mov guest+32(%rip), %rsp\n	mov guest+40(%rip), %rbp\n"
	"	mov guest+48(%rip), %rsi\n	mov guest+56(%rip), %rdi\n	mov guest+64(%rip), %r8\n"
	"	mov guest+72(%rip), %r9\n	mov guest+80(%rip), %r10\n	mov guest+88(%rip), %r11\n"
	"	mov guest+96(%rip), %r12\n	mov guest+104(%rip), %r13\n	mov guest+112(%rip), %r14\n"
	"	mov guest+120(%rip), %r15\n"
	"	jmp *guest_code(%rip)\n"
	"guest_fault:\n"
	"	movq $1, guest_faulted(%rip)\n"
	"guest_done:\n"
	"	mov %rax, guest+0(%rip)\n	mov %rcx, guest+8(%rip)\n	mov %rdx, guest+16(%rip)\n"
	"	mov %rbx, guest+24(%rip)\n	mov %rsp, guest+32(%rip)\n	mov %rbp, guest+40(%rip)\n"
	"	mov %rsi, guest+48(%rip)\n	mov %rdi, guest+56(%rip)\n	mov %r8, guest+64(%rip)\n"
	"	mov %r9, guest+72(%rip)\n	mov %r10, guest+80(%rip)\n	mov %r11, guest+88(%rip)\n"
	"	mov %r12, guest+96(%rip)\n	mov %r13, guest+104(%rip)\n	mov %r14, guest+112(%rip)\n"
	"	mov %r15, guest+120(%rip)\n"
	"	mov host_rsp(%rip), %rsp\n"
	"	pushfq\n"
	"	pop guest+128(%rip)\n"
	"	cld\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n"
	"	ret\n");

static u8 *code;
static u8 *window; /* in the middle of a larger mapping */
static u8 *no_access;
static u8 pattern[WINDOW];
static unsigned bad;
static unsigned long executed, skipped, renames, moves;

static void on_fault(int sig, siginfo_t *info, void *uc_)
{
	ucontext_t *uc = uc_;
	u64 pc = uc->uc_mcontext.gregs[REG_RIP];

	if (pc < (u64)code || pc >= (u64)code + 64)
		abort();
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(u64)guest_fault;
}

/* Returns false if it faulted. */
static bool run(const u8 *bytes, unsigned len, struct state *s)
{
	static const u8 jump[6] = {0xff, 0x25};
	u64 done = (u64)guest_done;

	memcpy(code, bytes, len);
	memcpy(code + len, jump, 6);
	memcpy(code + len + 6, &done, 8);
	memcpy(window, pattern, WINDOW);
	guest = *s;
	guest_code = (u64)code;
	guest_faulted = 0;
	guest_run();
	*s = guest;
	return !guest_faulted;
}

/* Instructions that change this process beyond the registers that guest_run() restores, wait, or answer differently
 * each time. */
static bool harmless(const struct insn *in, const struct oracle *o)
{
	static const char *const not [] = {
		"wrpkru",   "mwaitx",   "monitorx",   "umwait",   "tpause",   "umonitor", "rdpid",   "rdpru",
		"vmmcall",  "vmcall",   "vmfunc",     "enclu",    "enclv",    "getsec",   "clui",    "stui",
		"senduipi", "testui",   "xrstor",     "xrstor64", "xrstors",  "xsave",    "xsave64", "xsavec",
		"xsavec64", "xsaveopt", "xsaveopt64", "fxsave",   "fxsave64", "rdrand",   "rdseed",  "xend",
		"xabort",   "skinit",   "clzero",     "sgdt",     "sidt",     "std",      "mcommit", "incsspd",
		"incsspq",  "invlpgb",	"tlbsync",    NULL};

	/* A bit offset in a register may reach memory that is not set up again between runs. */
	if ((in->attr & ISA_MEM) && (in->attr & ISA_REG_GPR) &&
	    !strncmp(ZydisMnemonicGetString(o->zi.mnemonic), "bt", 2))
		return false;
	return in->kind == ISA_PLAIN && !oracle_is_one_of(o, not ) && !(in->attr & (ISA_RIP_REL | ISA_VSIB)) &&
	       !in->seg && !(in->legacy & 8);
}

static u64 random_value(void)
{
	u64 v = (u64)rnd() << 32 | rnd();

	switch (rnd() % 4) {
	case 0:
		return v & 0xff;
	case 1:
		return (s64)v >> (v & 63);
	default:
		return v;
	}
}

static u64 random_flags(void)
{
	return 0x202 | (rnd() & ISA_STATUS);
}

/* Registers that memory operands, the stack and strings go by point into the window, 64-byte aligned operands. */
static void random_state_for(const struct insn *in, struct state *s)
{
	u64 middle = (u64)window + WINDOW / 2;

	for (unsigned i = 0; i < 16; i++)
		s->gpr[i] = random_value();
	s->flags = random_flags();
	s->gpr[RSP] = middle;
	if ((in->attr & (ISA_LOAD | ISA_STORE)) && !(in->attr & ISA_MEM)) {
		s->gpr[3] = middle;
		s->gpr[5] = middle + 256;
		s->gpr[6] = middle - 512;
		s->gpr[7] = middle + 512;
	}
	if (in->attr & ISA_REP)
		s->gpr[1] = rnd() % 9;
	if (in->attr & ISA_MEM) {
		if (in->index != 0xff)
			s->gpr[in->index] = 0;
		if (in->base != 0xff)
			s->gpr[in->base] = middle - in->disp;
		if (in->attr & ISA_STRING)
			s->gpr[1] = 1;
	}
}

static void wrong(const char *what, const u8 *bytes, const struct oracle *o, unsigned which, u64 got, u64 want)
{
	fprintf(stderr, "%s (%u): %#llx, should be %#llx: ", what, which, (unsigned long long)got,
		(unsigned long long)want);
	oracle_print(o, bytes, o->zi.length);
	bad++;
}

/* Compares registers in mask and flags in flags. */
static void same(const char *what, const u8 *bytes, const struct oracle *o, const struct state *got,
		 const struct state *want, u32 mask, u32 flags)
{
	for (unsigned i = 0; i < 16; i++)
		if ((mask >> i & 1) && got->gpr[i] != want->gpr[i])
			wrong(what, bytes, o, i, got->gpr[i], want->gpr[i]);
	if ((got->flags ^ want->flags) & flags)
		wrong(what, bytes, o, 99, got->flags & flags, want->flags & flags);
}

static void check_unread(const u8 *bytes, const struct insn *in, const struct oracle *o, const struct state *before,
			 const struct state *after, const u8 *memory)
{
	struct state s = *before;
	struct state t;

	for (unsigned i = 0; i < 16; i++)
		if (i != RSP && !(in->reads >> i & 1))
			s.gpr[i] = random_value();
	s.flags ^= rnd() & ISA_STATUS & ~in->fl_reads;
	t = s;
	if (!run(bytes, in->len, &t)) {
		wrong("faults with other values in unread registers", bytes, o, 0, 0, 0);
		return;
	}
	same("depends on what it does not read", bytes, o, &t, after, in->writes, in->fl_kills);
	if (memcmp(memory, window, WINDOW))
		wrong("memory depends on what is not read", bytes, o, 0, 0, 0);
}

/* Whether a mask may make it leave memory alone. */
static bool masked(const u8 *bytes, const struct insn *in, const struct oracle *o)
{
	return (in->enc == ISA_EVEX && (bytes[in->prefix_off + 3] & 7)) ||
	       strstr(ZydisMnemonicGetString(o->zi.mnemonic), "maskmov");
}

static void check_access(const u8 *bytes, const struct insn *in, const struct oracle *o, const struct state *before)
{
	bool accesses = in->attr & (ISA_LOAD | ISA_STORE);
	struct state s = *before;

	if (!(in->attr & ISA_MEM) || in->base == 0xff || in->base == RSP || masked(bytes, in, o))
		return;
	s.gpr[in->base] = (u64)no_access + WINDOW / 2 - in->disp;
	if (run(bytes, in->len, &s) == accesses)
		wrong(accesses ? "does not access memory" : "accesses memory", bytes, o, 0, 0, 0);
}

static unsigned unused(const struct insn *in)
{
	unsigned r = 15;

	while ((in->reads | in->writes | 1u << RSP) >> r & 1)
		r--;
	return r;
}

static void check_renamed(const u8 *bytes, const struct insn *in, const struct oracle *o, const struct state *before,
			  const struct state *after)
{
	unsigned from = rnd() & 15, to = unused(in);
	struct insn copy = *in;
	struct state s = *before;
	u8 buf[16];
	int len;

	if (from == RSP || !((in->reads | in->writes) >> from & 1))
		return;
	memcpy(buf, bytes, in->len);
	len = isa_rename(buf, &copy, from, to);
	/* Renamed everywhere? Not if it is an implicit operand too. */
	if (len <= 0 || ((copy.reads | copy.writes) >> from & 1))
		return;
	s.gpr[to] = before->gpr[from];
	s.gpr[from] = ~before->gpr[from];
	if (!run(buf, len, &s)) {
		wrong("faults when renamed", bytes, o, from, 0, 0);
		return;
	}
	renames++;
	if (s.gpr[to] != after->gpr[from])
		wrong("renamed register", bytes, o, from, s.gpr[to], after->gpr[from]);
	if (s.gpr[from] != ~before->gpr[from])
		wrong("register renamed away", bytes, o, from, s.gpr[from], ~before->gpr[from]);
	same("renamed", bytes, o, &s, after, ~(1u << from | 1u << to) & in->writes,
	     in->fl_kills | (ISA_STATUS & ~in->fl_writes));
}

static void check_moved(const u8 *bytes, const struct insn *in, const struct oracle *o, const struct state *before,
			const struct state *after)
{
	unsigned base = unused(in);
	struct insn copy = *in;
	struct state s = *before;
	bool ext = in->enc == ISA_LEGACY ? in->rex & 1
					 : !(bytes[in->prefix_off] == 0xc5 || (bytes[in->prefix_off + 1] & 0x20));
	unsigned rm = (in->modrm & 7) | ext << 3;
	u64 *cell = (u64 *)(window + 1024);
	u64 want;
	u8 buf[16];
	int len;

	if (!(in->attr & ISA_RM_GPR) || (in->attr & (ISA_NO_MEM_RM | ISA_REG8_HIGH | ISA_MEM)) || rm == RSP)
		return;
	/* Another operand in the same register would not see the cell. */
	memcpy(buf, bytes, in->len);
	len = isa_set_mem(buf, &copy, base, 64);
	if (len <= 0 || ((copy.reads | copy.writes) >> rm & 1))
		return;
	s.gpr[base] = (u64)cell - 64;
	memcpy(pattern + 1024, &before->gpr[rm], 8);
	if (!run(buf, len, &s)) {
		wrong("faults as memory operand", bytes, o, rm, 0, 0);
		return;
	}
	moves++;
	memcpy(&want, &after->gpr[rm], 8);
	if (*cell != want)
		wrong("register in memory", bytes, o, rm, *cell, want);
	same("memory operand", bytes, o, &s, after, ~(1u << rm | 1u << base) & 0xffff,
	     in->fl_kills | (ISA_STATUS & ~in->fl_writes));
}

static void check(const u8 *bytes, const struct insn *in, const struct oracle *o)
{
	static u8 memory[WINDOW];
	struct state before, after;

	random_state_for(in, &before);
	after = before;
	if (!run(bytes, in->len, &after)) {
		skipped++;
		return;
	}
	executed++;
	memcpy(memory, window, WINDOW);
	same("not said to be written", bytes, o, &after, &before, ~in->writes & 0xffff,
	     ~in->fl_writes & (ISA_STATUS | ISA_DF));
	if (!(in->attr & ISA_STORE) && memcmp(window, pattern, WINDOW))
		wrong("stores", bytes, o, 0, 0, 0);
	check_unread(bytes, in, o, &before, &after, memory);
	check_access(bytes, in, o, &before);
	check_renamed(bytes, in, o, &before, &after);
	check_moved(bytes, in, o, &before, &after);
}

static bool prepare(void)
{
	static u8 stack[65536];
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	static const int signals[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP};
	unsigned a, b, c, d;
	u8 *map;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return false;
	sigaltstack(&alt, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, NULL);
	map = mmap(NULL, 16 * WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || code == MAP_FAILED)
		return false;
	window = map + 4 * WINDOW;
	no_access = map + 12 * WINDOW;
	mprotect(no_access, WINDOW, PROT_NONE);
	for (unsigned i = 0; i < WINDOW; i++)
		pattern[i] = rnd();
	__asm__ volatile("xsave64 %0" : "+m"(vectors) : "a"(0xe7), "d"(0) : "memory");
	vectors[512] |= 7;
	for (unsigned i = 0; i < 8 * 16; i++)
		vectors[32 + i] = i % 16 < 10 ? rnd() : 0;
	for (unsigned i = 0; i < 256; i++)
		vectors[160 + i] = rnd();
	memcpy(vectors, "\x7f\x03\0\0\0", 5);
	memcpy(vectors + 24, "\x80\x1f\0\0", 4);
	return true;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : ROUNDS;

	random_seed(argc > 1 ? strtoull(argv[1], NULL, 0) : 1);
	oracle_init();
	if (!prepare()) {
		printf("needs xsave and executable memory\n");
		return 77;
	}
	for (unsigned i = 0; i < rounds && bad < MAX_BAD; i++) {
		struct oracle o;
		struct insn in;
		u8 bytes[16];

		random_insn(bytes);
		if (isa_decode(bytes, ISA_MAX_LEN, &in) > 0 && oracle_decode(bytes, ISA_MAX_LEN, &o) &&
		    harmless(&in, &o))
			check(bytes, &in, &o);
	}
	printf("%lu executed, %lu skipped, %lu renamed, %lu with a register in memory: %u wrong\n", executed, skipped,
	       renames, moves, bad);
	return bad || !renames || !moves ? 1 : 0;
}
