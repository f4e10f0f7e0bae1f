/*
 * Instructions that the translator leans on, with what a reader of the manuals expects: written by hand, so that it
 * also holds against the tables' generator and against Zydis.
 */
#include <stdio.h>
#include <string.h>

#include "isa/insn.h"

#define AX  0x0001
#define CX  0x0002
#define DX  0x0004
#define BX  0x0008
#define SP  0x0010
#define BP  0x0020
#define SI  0x0040
#define DI  0x0080
#define R8  0x0100
#define R11 0x0800
#define R15 0x8000

#define ARITH ISA_STATUS
#define INC   (ISA_STATUS & ~ISA_CF)
#define NONE  0

struct fact {
	const char *text;
	const char *bytes;
	u8 len;
	u8 kind;
	u16 reads, writes;
	u16 fl_reads, fl_kills;
	u32 has, has_not; /* attr */
};

static const struct fact facts[] = {
	{"add %eax, %ecx", "\x01\xc1", 2, ISA_PLAIN, AX | CX, CX, NONE, ARITH, ISA_SWAP_DIR | ISA_NO_MEM_RM, ISA_MEM},
	{"add %rax, %rcx", "\x48\x01\xc1", 3, ISA_PLAIN, AX | CX, CX, NONE, ARITH, ISA_SWAP_DIR, ISA_NO_MEM_RM},
	{"add %ax, %cx", "\x66\x01\xc1", 3, ISA_PLAIN, AX | CX, CX, NONE, ARITH, ISA_SWAP_DIR, ISA_NO_MEM_RM},
	{"cmp %eax, %ecx", "\x39\xc1", 2, ISA_PLAIN, AX | CX, 0, NONE, ARITH, ISA_SWAP_DIR, ISA_NO_MEM_RM},
	{"add %ah, %cl", "\x00\xe1", 2, ISA_PLAIN, AX | CX, CX, NONE, ARITH, ISA_REG8_HIGH, ISA_MEM},
	{"adc %rdx, (%rbx)", "\x48\x11\x13", 3, ISA_PLAIN, DX | BX, 0, ISA_CF, ARITH & ~ISA_CF,
	 ISA_MEM | ISA_LOAD | ISA_STORE, 0},
	{"and %rax, %rdx", "\x48\x21\xc2", 3, ISA_PLAIN, AX | DX, DX, NONE, ARITH, ISA_SWAP_DIR, 0},
	{"test %eax, %eax", "\x85\xc0", 2, ISA_PLAIN, AX, 0, NONE, ARITH, 0, ISA_SWAP_DIR | ISA_NO_MEM_RM},
	{"inc %r15d", "\x41\xff\xc7", 3, ISA_PLAIN, R15, R15, NONE, INC, ISA_NO_MEM_RM, 0},
	{"inc %r15", "\x49\xff\xc7", 3, ISA_PLAIN, R15, R15, NONE, INC, 0, ISA_NO_MEM_RM},
	{"imul %rcx, %rax", "\x48\x0f\xaf\xc1", 4, ISA_PLAIN, AX | CX, AX, NONE, ISA_CF | ISA_OF, 0, ISA_NO_MEM_RM},
	{"mul %rcx", "\x48\xf7\xe1", 3, ISA_PLAIN, AX | CX, AX | DX, NONE, ISA_CF | ISA_OF, 0, ISA_NO_MEM_RM},
	{"div %ecx", "\xf7\xf1", 2, ISA_PLAIN, AX | CX | DX, AX | DX, NONE, NONE, ISA_DIV, ISA_NO_MEM_RM},
	{"shl %cl, %rax", "\x48\xd3\xe0", 3, ISA_PLAIN, AX | CX, AX, NONE, NONE, 0, ISA_NO_MEM_RM},
	{"shl $3, %rax", "\x48\xc1\xe0\x03", 4, ISA_PLAIN, AX, AX, NONE, NONE, 0, ISA_NO_MEM_RM},
	{"rcl %rax", "\x48\xd1\xd0", 3, ISA_PLAIN, AX, AX, ISA_CF, NONE, 0, 0},
	{"bt %rcx, %rax", "\x48\x0f\xa3\xc8", 4, ISA_PLAIN, AX | CX, 0, NONE, ISA_CF, ISA_NO_MEM_RM, 0},
	{"bt $5, %rax", "\x48\x0f\xba\xe0\x05", 5, ISA_PLAIN, AX, 0, NONE, ISA_CF, 0, ISA_NO_MEM_RM},
	{"bsf %rcx, %rax", "\x48\x0f\xbc\xc1", 4, ISA_PLAIN, AX | CX, AX, NONE, ISA_ZF, 0, ISA_NO_MEM_RM},
	{"cmove %rcx, %rax", "\x48\x0f\x44\xc1", 4, ISA_PLAIN, AX | CX, AX, ISA_ZF, NONE, 0, ISA_NO_MEM_RM},
	{"setg %al", "\x0f\x9f\xc0", 3, ISA_PLAIN, AX, AX, ISA_ZF | ISA_SF | ISA_OF, NONE, 0, ISA_NO_MEM_RM},
	{"mov %eax, %ecx", "\x89\xc1", 2, ISA_PLAIN, AX, CX, NONE, NONE, ISA_SWAP_DIR | ISA_NO_MEM_RM, 0},
	{"mov %rax, %rcx", "\x48\x89\xc1", 3, ISA_PLAIN, AX, CX, NONE, NONE, ISA_SWAP_DIR, ISA_NO_MEM_RM},
	{"mov $1, %r8", "\x49\xb8\x01\0\0\0\0\0\0\0", 10, ISA_PLAIN, 0, R8, NONE, NONE, ISA_OP_GPR, 0},
	{"mov %fs:0x28, %rax", "\x64\x48\x8b\x04\x25\x28\0\0\0", 9, ISA_PLAIN, 0, AX, NONE, NONE, ISA_LOAD | ISA_MEM,
	 ISA_RIP_REL},
	{"mov 0x10(%rip), %rax", "\x48\x8b\x05\x10\0\0\0", 7, ISA_PLAIN, 0, AX, NONE, NONE, ISA_LOAD | ISA_RIP_REL, 0},
	{"movabs %rax, 0x1", "\x48\xa3\x01\0\0\0\0\0\0\0", 10, ISA_PLAIN, AX, 0, NONE, NONE, ISA_STORE, ISA_MEM},
	{"movzbl %cl, %eax", "\x0f\xb6\xc1", 3, ISA_PLAIN, CX, AX, NONE, NONE, 0, ISA_NO_MEM_RM},
	{"lea (%rax,%r15,2), %rcx", "\x4a\x8d\x0c\x78", 4, ISA_PLAIN, AX | R15, CX, NONE, NONE, ISA_MEM, ISA_LOAD},
	{"xchg %rax, %rcx", "\x48\x87\xc1", 3, ISA_PLAIN, AX | CX, AX | CX, NONE, NONE, ISA_NO_MEM_RM, 0},
	{"lock cmpxchg %ecx, (%rdx)", "\xf0\x0f\xb1\x0a", 4, ISA_PLAIN, AX | CX | DX, AX, NONE, ARITH,
	 ISA_LOCK | ISA_LOAD | ISA_STORE, 0},
	{"push %r15", "\x41\x57", 2, ISA_PLAIN, SP | R15, SP, NONE, NONE, ISA_STACK | ISA_STORE | ISA_OP_GPR, ISA_LOAD},
	{"push %r15 by ff", "\x41\xff\xf7", 3, ISA_PLAIN, SP | R15, SP, NONE, NONE, ISA_STACK | ISA_STORE,
	 ISA_NO_MEM_RM},
	{"pop %rbx", "\x5b", 1, ISA_PLAIN, SP, SP | BX, NONE, NONE, ISA_STACK | ISA_LOAD, ISA_STORE},
	{"leave", "\xc9", 1, ISA_PLAIN, BP | SP, BP | SP, NONE, NONE, ISA_STACK | ISA_LOAD, 0},
	{"enter $16, $0", "\xc8\x10\0\0", 4, ISA_PLAIN, BP | SP, BP | SP, NONE, NONE, ISA_STACK | ISA_STORE, 0},
	{"rep movsb", "\xf3\xa4", 2, ISA_PLAIN, CX | SI | DI, CX | SI | DI, ISA_DF, NONE,
	 ISA_REP | ISA_STRING | ISA_LOAD | ISA_STORE, 0},
	{"repne scasb", "\xf2\xae", 2, ISA_PLAIN, AX | CX | DI, CX | DI, ISA_DF | ISA_ZF, NONE,
	 ISA_REP | ISA_STRING | ISA_LOAD, ISA_STORE},
	{"cmpsb", "\xa6", 1, ISA_PLAIN, SI | DI, SI | DI, ISA_DF, ARITH, ISA_STRING | ISA_LOAD, ISA_REP},
	{"stosq", "\x48\xab", 2, ISA_PLAIN, AX | DI, DI, ISA_DF, NONE, ISA_STRING | ISA_STORE, ISA_LOAD},
	{"cld", "\xfc", 1, ISA_PLAIN, 0, 0, NONE, ISA_DF, 0, 0},
	{"lahf", "\x9f", 1, ISA_PLAIN, AX, AX, ISA_STATUS & ~ISA_OF, NONE, 0, 0},
	{"nop", "\x90", 1, ISA_PLAIN, 0, 0, NONE, NONE, 0, ISA_OP_GPR},
	{"nopw 0(%rax,%rax)", "\x66\x0f\x1f\x44\0\0", 6, ISA_PLAIN, 0, 0, NONE, NONE, ISA_MEM, ISA_LOAD},
	{"endbr64", "\xf3\x0f\x1e\xfa", 4, ISA_PLAIN, 0, 0, NONE, NONE, 0, ISA_FLOW_END | ISA_MEM},
	{"pause", "\xf3\x90", 2, ISA_PLAIN, 0, 0, NONE, NONE, 0, 0},
	{"je +5", "\x74\x05", 2, ISA_JCC, 0, 0, ISA_ZF, NONE, ISA_FLOW_END, ISA_STACK},
	{"jle -1", "\x0f\x8e\xff\xff\xff\xff", 6, ISA_JCC, 0, 0, ISA_ZF | ISA_SF | ISA_OF, NONE, ISA_FLOW_END, 0},
	{"jrcxz", "\xe3\x05", 2, ISA_LOOP, CX, 0, NONE, NONE, ISA_FLOW_END, 0},
	{"loopne", "\xe0\x05", 2, ISA_LOOP, CX, CX, ISA_ZF, NONE, ISA_FLOW_END, 0},
	{"jmp", "\xe9\x05\0\0\0", 5, ISA_JMP, 0, 0, NONE, NONE, ISA_FLOW_END, ISA_STACK},
	{"jmp *%r15", "\x41\xff\xe7", 3, ISA_JMP_IND, R15, 0, NONE, NONE, ISA_FLOW_END, ISA_LOAD},
	{"bnd jmp *8(%rip)", "\xf2\xff\x25\x08\0\0\0", 7, ISA_JMP_IND, 0, 0, NONE, NONE,
	 ISA_FLOW_END | ISA_RIP_REL | ISA_LOAD, 0},
	{"notrack jmp *%rax", "\x3e\xff\xe0", 3, ISA_JMP_IND, AX, 0, NONE, NONE, ISA_FLOW_END, 0},
	{"call", "\xe8\x05\0\0\0", 5, ISA_CALL, SP, SP, NONE, NONE, ISA_FLOW_END | ISA_STACK | ISA_STORE, 0},
	{"call *(%rax)", "\xff\x10", 2, ISA_CALL_IND, SP | AX, SP, NONE, NONE,
	 ISA_FLOW_END | ISA_STACK | ISA_LOAD | ISA_STORE, 0},
	{"ret", "\xc3", 1, ISA_RET, SP, SP, NONE, NONE, ISA_FLOW_END | ISA_STACK | ISA_LOAD, 0},
	{"ret $8", "\xc2\x08\0", 3, ISA_RET, SP, SP, NONE, NONE, ISA_FLOW_END, 0},
	{"rep ret", "\xf3\xc3", 2, ISA_RET, SP, SP, NONE, NONE, ISA_FLOW_END, ISA_REP},
	{"iretq", "\x48\xcf", 2, ISA_FAR, SP, SP, NONE, ISA_STATUS | ISA_DF, ISA_FLOW_END | ISA_STACK, 0},
	{"syscall", "\x0f\x05", 2, ISA_SYSCALL, 0, CX | R11, NONE, ISA_STATUS | ISA_DF, ISA_FLOW_END, 0},
	{"int $0x80", "\xcd\x80", 2, ISA_SYSENTER, 0, 0, NONE, NONE, ISA_FLOW_END, 0},
	{"int $3", "\xcd\x03", 2, ISA_INT, 0, 0, NONE, NONE, ISA_FLOW_END, 0},
	{"int3", "\xcc", 1, ISA_INT, 0, 0, NONE, NONE, ISA_FLOW_END, 0},
	{"ud2", "\x0f\x0b", 2, ISA_INT, 0, 0, NONE, NONE, ISA_FLOW_END, 0},
	{"hlt", "\xf4", 1, ISA_INT, 0, 0, NONE, NONE, ISA_FLOW_END, 0},
	{"in %dx, %al", "\xec", 1, ISA_INT, AX | DX, AX, NONE, NONE, ISA_FLOW_END, 0},
	{"mov %rax, %cr3", "\x0f\x22\xd8", 3, ISA_INT, AX, 0, NONE, NONE, ISA_FLOW_END, 0},
	{"pushfq", "\x9c", 1, ISA_PUSHF, SP, SP, ISA_STATUS | ISA_DF, NONE, ISA_STACK | ISA_STORE, ISA_FLOW_END},
	{"popfq", "\x9d", 1, ISA_POPF, SP, SP, NONE, ISA_STATUS | ISA_DF, ISA_STACK | ISA_LOAD, ISA_FLOW_END},
	{"cpuid", "\x0f\xa2", 2, ISA_CPUID, AX | CX, AX | BX | CX | DX, NONE, NONE, 0, ISA_FLOW_END},
	{"xgetbv", "\x0f\x01\xd0", 3, ISA_XGETBV, CX, AX | DX, NONE, NONE, 0, ISA_FLOW_END},
	{"rdtsc", "\x0f\x31", 2, ISA_RDTSC, 0, AX | DX, NONE, NONE, 0, ISA_FLOW_END},
	{"rdtscp", "\x0f\x01\xf9", 3, ISA_RDTSC, 0, AX | CX | DX, NONE, NONE, 0, ISA_FLOW_END},
	{"rdpmc", "\x0f\x33", 2, ISA_RDPMC, CX, AX | DX, NONE, NONE, 0, ISA_FLOW_END},
	{"xbegin", "\xc7\xf8\x05\0\0\0", 6, ISA_XBEGIN, AX, AX, NONE, NONE, ISA_FLOW_END, 0},
	{"rdfsbase %rax", "\xf3\x48\x0f\xae\xc0", 5, ISA_FSGSBASE, 0, AX, NONE, NONE, ISA_NO_MEM_RM, ISA_FLOW_END},
	{"wrgsbase %r15", "\xf3\x49\x0f\xae\xdf", 5, ISA_FSGSBASE, R15, 0, NONE, NONE, ISA_NO_MEM_RM, 0},
	{"mov %ax, %es", "\x8e\xc0", 2, ISA_SEGLOAD, AX, 0, NONE, NONE, 0, ISA_FLOW_END},
	{"pop %fs", "\x0f\xa1", 2, ISA_SEGLOAD, SP, SP, NONE, NONE, ISA_STACK, ISA_FLOW_END},
	{"movd %r15d, %xmm0", "\x66\x41\x0f\x6e\xc7", 5, ISA_PLAIN, R15, 0, NONE, NONE, ISA_SSE, ISA_NO_MEM_RM},
	{"movd %xmm0, %r15d", "\x66\x41\x0f\x7e\xc7", 5, ISA_PLAIN, 0, R15, NONE, NONE, ISA_SSE | ISA_NO_MEM_RM, 0},
	{"movq %xmm0, %r15", "\x66\x49\x0f\x7e\xc7", 5, ISA_PLAIN, 0, R15, NONE, NONE, ISA_SSE, ISA_NO_MEM_RM},
	{"pinsrw $1, %r15d, %xmm0", "\x66\x41\x0f\xc4\xc7\x01", 6, ISA_PLAIN, R15, 0, NONE, NONE,
	 ISA_SSE | ISA_NO_MEM_RM, 0},
	{"pmovmskb %xmm0, %eax", "\x66\x0f\xd7\xc0", 4, ISA_PLAIN, 0, AX, NONE, NONE, ISA_SSE | ISA_REG_GPR,
	 ISA_RM_GPR},
	{"ucomisd %xmm1, %xmm0", "\x66\x0f\x2e\xc1", 4, ISA_PLAIN, 0, 0, NONE, ISA_STATUS, ISA_SSE, 0},
	{"cvtsi2sd %r15, %xmm0", "\xf2\x49\x0f\x2a\xc7", 5, ISA_PLAIN, R15, 0, NONE, NONE, ISA_SSE, ISA_NO_MEM_RM},
	{"andn %rcx, %rbx, %rax", "\xc4\xe2\xe0\xf2\xc1", 5, ISA_PLAIN, BX | CX, AX, NONE,
	 ISA_SF | ISA_ZF | ISA_OF | ISA_CF, ISA_VVVV_GPR, ISA_SSE},
	{"shlx %rcx, %rbx, %rax", "\xc4\xe2\xf1\xf7\xc3", 5, ISA_PLAIN, BX | CX, AX, NONE, NONE, ISA_VVVV_GPR,
	 ISA_NO_MEM_RM},
	{"vzeroupper", "\xc5\xf8\x77", 3, ISA_PLAIN, 0, 0, NONE, NONE, ISA_SSE, 0},
	{"vpgatherdd", "\xc4\xe2\x6d\x90\x04\x08", 6, ISA_PLAIN, AX, 0, NONE, NONE, ISA_VSIB | ISA_SSE | ISA_LOAD, 0},
	{"vpbroadcastd %r15d, %zmm0", "\x62\xd2\x7d\x48\x7c\xc7", 6, ISA_PLAIN, R15, 0, NONE, NONE,
	 ISA_SSE | ISA_NO_MEM_RM, 0},
	{"kmovw %k1, %eax", "\xc5\xf8\x93\xc1", 4, ISA_PLAIN, 0, AX, NONE, NONE, ISA_SSE | ISA_REG_GPR, 0},
	{"fadd %st(1), %st", "\xd8\xc1", 2, ISA_PLAIN, 0, 0, NONE, NONE, ISA_X87, ISA_MEM},
	{"fnstsw %ax", "\xdf\xe0", 2, ISA_PLAIN, AX, AX, NONE, NONE, ISA_X87, ISA_MEM},
	{"fxsave (%rdi)", "\x0f\xae\x07", 3, ISA_PLAIN, DI, 0, NONE, NONE, ISA_STORE, 0},
	{"xsave (%rdi)", "\x0f\xae\x27", 3, ISA_PLAIN, AX | DX | DI, 0, NONE, NONE, ISA_STORE, 0},
	{"pfadd %mm1, %mm0", "\x0f\x0f\xc1\x9e", 4, ISA_PLAIN, 0, 0, NONE, NONE, 0, ISA_SSE},
	{"xlat", "\xd7", 1, ISA_PLAIN, AX | BX, AX, NONE, NONE, ISA_LOAD, 0},
	{"15 bytes", "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", 15, ISA_PLAIN, 0, 0, NONE, NONE, 0,
	 0},
};

static const char *const invalid[] = {
	"\x06",								    /* push %es */
	"\x0e",								    /* push %cs */
	"\x27",								    /* daa */
	"\x60",								    /* pusha */
	"\x82\xc0\x01",							    /* 80's alias */
	"\x9a\0\0\0\0\0\0",						    /* far call */
	"\xd4\x0a",							    /* aam */
	"\xea\0\0\0\0\0\0",						    /* far jmp */
	"\xf0\x90",							    /* lock nop */
	"\xf0\x01\xc0",                                                     /* lock with a register destination */
	"\xf0\x8b\x00",							    /* lock mov */
	"\x8e\xc8",							    /* mov to %cs */
	"\x48\xc5\xf8\x77",						    /* REX before VEX */
	"\x66\xc5\xf8\x77",						    /* 66 before VEX */
	"\xc5\xf0\x77",							    /* vzeroupper with vvvv */
	"\x0f\x04",							    /* nothing there */
	"\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", /* 16 bytes */
};

static unsigned differs(const char *text, const char *what, unsigned got, unsigned want)
{
	if (got == want)
		return 0;
	fprintf(stderr, "%s: %s is %#x, should be %#x\n", text, what, got, want);
	return 1;
}

static unsigned check_fact(const struct fact *f)
{
	u8 bytes[ISA_MAX_LEN] = {0};
	struct insn in;
	unsigned bad = 0;

	memcpy(bytes, f->bytes, f->len);
	if (isa_decode(bytes, sizeof(bytes), &in) != f->len)
		return differs(f->text, "length", in.len, f->len) + 1;
	bad += differs(f->text, "kind", in.kind, f->kind);
	bad += differs(f->text, "reads", in.reads, f->reads);
	bad += differs(f->text, "writes", in.writes, f->writes);
	bad += differs(f->text, "fl_reads", in.fl_reads, f->fl_reads);
	bad += differs(f->text, "fl_kills", in.fl_kills, f->fl_kills);
	bad += differs(f->text, "attr", in.attr & (f->has | f->has_not), f->has);
	bad += differs(f->text, "killed flags not written", in.fl_kills & ~in.fl_writes, 0);
	bad += differs(f->text, "weight 0", in.weight == 0, 0);
	return bad;
}

static unsigned check_targets(void)
{
	static const u8 jcc[ISA_MAX_LEN] = {0x0f, 0x8e, 0xfa, 0xff, 0xff, 0xff};
	static const u8 loop[ISA_MAX_LEN] = {0xe2, 0xfe};
	static const u8 call[ISA_MAX_LEN] = {0xe8, 0x00, 0x10, 0x00, 0x00};
	struct insn in;
	unsigned bad = 0;

	isa_decode(jcc, ISA_MAX_LEN, &in);
	bad += differs("jle", "target", isa_target(&in, 0x1000), 0x1000);
	bad += differs("jle", "condition", in.opcode & 15, 14);
	isa_decode(loop, ISA_MAX_LEN, &in);
	bad += differs("loop", "target", isa_target(&in, 0x1000), 0x1000);
	isa_decode(call, ISA_MAX_LEN, &in);
	bad += differs("call", "target", isa_target(&in, 0x1000), 0x2005);
	return bad;
}

/* Weights are relative: what is slower must weigh more. */
static unsigned check_weights(void)
{
	static const char *const rising[] = {"\x01\xc1", "\x03\x08",	 "\x48\x0f\xaf\xc1", "\xf2\x0f\x5e\xc1",
					     "\xf7\xf1", "\xf0\x01\x08", "\x0f\xa2"};
	unsigned last = 0, bad = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(rising); i++) {
		u8 bytes[ISA_MAX_LEN] = {0};
		struct insn in;

		memcpy(bytes, rising[i], strlen(rising[i]));
		isa_decode(bytes, ISA_MAX_LEN, &in);
		if (in.weight <= last)
			bad += differs("weights", "the order", i, i + 1);
		last = in.weight;
	}
	return bad;
}

int main(void)
{
	unsigned bad = check_targets() + check_weights();

	for (unsigned i = 0; i < ARRAY_SIZE(facts); i++)
		bad += check_fact(&facts[i]);
	for (unsigned i = 0; i < ARRAY_SIZE(invalid); i++) {
		u8 bytes[16] = {0};
		struct insn in;

		memcpy(bytes, invalid[i], strlen(invalid[i]));
		if (isa_decode(bytes, ISA_MAX_LEN, &in) != 0) {
			fprintf(stderr, "invalid %u is decoded\n", i);
			bad++;
		}
	}
	printf("%zu instructions, %u wrong\n", ARRAY_SIZE(facts) + ARRAY_SIZE(invalid), bad);
	return bad ? 1 : 0;
}
