/* See cpu/regs.h. */
#ifndef CPU_X86_64_REGS_H
#define CPU_X86_64_REGS_H

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

#define CPU_GPRS 16
#define REG_SP RSP
#define REG_RESULT RAX
#define REG_NUMBER RAX
#define REG_ARGS RDI, RSI, RDX, R10, R8, R9

/*
 * The register that translated code needs for itself. Compilers use r11 least of all (0.2 to 1.2 % of the instructions
 * of python3, cc1, node and libc name it, r15 2.6 to 3.7 %), and a system call destroys it anyway.
 */
#define STOLEN R11

#define REG_NAMES                                                                                                      \
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"

#define FLAGS_FIXED 0x202ul   /* IF and bit 1 */
#define FLAGS_STEP 0x100ul    /* TF */
#define FLAGS_RESUME 0x10000u /* RF */

/* The kernel's struct sigcontext as an array: the order of REG_R8 .. REG_CR2 of the C library. */
enum {
	GREG_R8, GREG_R9, GREG_R10, GREG_R11, GREG_R12, GREG_R13, GREG_R14, GREG_R15, GREG_RDI, GREG_RSI, GREG_RBP,
	GREG_RBX, GREG_RDX, GREG_RAX, GREG_RCX, GREG_RSP, GREG_RIP, GREG_EFL, GREG_CSGSFS, GREG_ERR, GREG_TRAPNO,
	GREG_OLDMASK, GREG_CR2, GREG_NR
};
#define USER_REGS 27 /* words of struct user_regs_struct */

#define GREG_PC GREG_RIP
#define GREG_SP GREG_RSP
#define GREG_FLAGS GREG_EFL
#define GREG_ARG GREG_RDI
#define GREG_RESULT GREG_RAX

static inline unsigned greg_of(unsigned reg)
{
	static const unsigned char greg[CPU_GPRS] = {
		GREG_RAX, GREG_RCX, GREG_RDX, GREG_RBX, GREG_RSP, GREG_RBP, GREG_RSI, GREG_RDI,
		GREG_R8,  GREG_R9,  GREG_R10, GREG_R11, GREG_R12, GREG_R13, GREG_R14, GREG_R15,
	};

	return greg[reg];
}

#endif
