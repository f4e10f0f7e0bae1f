/*
 * x86-64 bytes <-> struct insn.
 *
 * isa_decode() describes one instruction: where its fields are in the bytes, which general registers and flags it reads
 * and writes, and what kind of control flow it is: what a same-ISA translator needs, and no more. The tables behind it
 * are generated from Zydis at build time (tools/gen_isa.c) and tested against Zydis. No state, no allocation.
 *
 * Conventions: general registers are numbered as in the encoding (0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi,
 * 7 rdi, 8..15 r8..r15). ah, ch, dh, bh count as rax, rcx, rdx, rbx. A partial write (8 or 16 bits, or a conditional
 * one such as cmov's or a bsf's) counts as read and written. The operands of a nop count as neither: base and index
 * tell what its bytes name, but nothing is read.
 */
#ifndef ISA_INSN_H
#define ISA_INSN_H

#include "abi/types.h"

#define ISA_MAX_LEN 15

enum isa_enc { ISA_LEGACY, ISA_VEX, ISA_EVEX, ISA_XOP, ISA_3DNOW };

/* Control flow and what else the translator must treat one by one. */
enum isa_kind {
	ISA_PLAIN,	/* runs as it is (after register and address rewriting) */
	ISA_JCC,	/* conditional jump, relative; cond is the low 4 bits of the opcode */
	ISA_LOOP,	/* loop, loope, loopne, jrcxz, jecxz (conditional, 8-bit relative, no flags written) */
	ISA_JMP,	/* direct jump */
	ISA_CALL,	/* direct call */
	ISA_JMP_IND,	/* jmp r/m64 */
	ISA_CALL_IND,	/* call r/m64 */
	ISA_RET,	/* ret, ret imm16 */
	ISA_FAR,	/* far jmp, call, ret, iret */
	ISA_SYSCALL,	/* syscall */
	ISA_SYSENTER,	/* sysenter, int 0x80: other system-call instructions */
	/* int3, int n, int1, into, ud0, ud1, ud2, hlt and other instructions that always fault or trap in user mode */
	ISA_INT,
	ISA_PUSHF,	/* pushf: shows the trap flag */
	ISA_POPF,	/* popf: may set the trap flag */
	ISA_CPUID,	/* cpuid */
	ISA_XGETBV,	/* xgetbv */
	ISA_RDTSC,	/* rdtsc, rdtscp */
	ISA_RDPMC,	/* rdpmc */
	ISA_XBEGIN,	/* xbegin: relative, starts a transaction */
	ISA_FSGSBASE,	/* rdfsbase, rdgsbase, wrfsbase, wrgsbase */
	ISA_SEGLOAD,	/* mov or pop to a segment register */
};

/* Bits of insn.attr. */
#define ISA_RIP_REL (1u << 0)	 /* memory operand is RIP-relative */
#define ISA_MEM (1u << 1)	 /* has a ModRM memory operand (also nop and lea: see ISA_LOAD and ISA_STORE) */
#define ISA_LOAD (1u << 2)	 /* reads data memory (explicit, implicit or stack) */
#define ISA_STORE (1u << 3)	 /* writes data memory */
#define ISA_REP (1u << 4)	 /* string instruction with a rep prefix: one instruction, many iterations */
#define ISA_LOCK (1u << 5)	 /* lock prefix */
#define ISA_STRING (1u << 6)	 /* movs, cmps, stos, lods, scas, ins, outs */
#define ISA_STACK (1u << 7)	 /* moves rsp implicitly: push, pop, call, ret, enter, leave, pushf, popf */
#define ISA_REG_GPR (1u << 8)	 /* the ModRM reg field names a general register */
#define ISA_RM_GPR (1u << 9)	 /* the ModRM rm field (mod 3) names a general register */
#define ISA_VVVV_GPR (1u << 10)	 /* the VEX vvvv field names a general register */
#define ISA_OP_GPR (1u << 11)	 /* the low 3 bits of the opcode (and REX.B) name a general register */
#define ISA_VSIB (1u << 12)	 /* the SIB index is a vector register */
#define ISA_X87 (1u << 13)
#define ISA_SSE (1u << 14)	 /* SSE, AVX or AVX-512 (vector registers) */
#define ISA_FLOW_END (1u << 15)	 /* ends a basic block: everything but ISA_PLAIN that changes rip */
#define ISA_DIV (1u << 16)	 /* div, idiv: may raise #DE */
#define ISA_SWAP_DIR (1u << 17)	 /* the same operation exists with reg and rm exchanged by flipping opcode bit 1
				    (add/or/adc/sbb/and/sub/xor/cmp r,r and mov r,r) */
#define ISA_REG8_HIGH (1u << 18) /* an operand is ah, ch, dh or bh (so no REX prefix may be added) */
#define ISA_NO_MEM_RM (1u << 19) /* with mod 3: the rm register operand cannot become a memory operand with the same
				    meaning by changing mod/rm (rule 5 at the top of tools/gen_isa.c) */

/* Bits of the flag sets: where they are in rflags. */
#define ISA_CF 0x001u
#define ISA_PF 0x004u
#define ISA_AF 0x010u
#define ISA_ZF 0x040u
#define ISA_SF 0x080u
#define ISA_DF 0x400u
#define ISA_OF 0x800u
#define ISA_STATUS (ISA_CF | ISA_PF | ISA_AF | ISA_ZF | ISA_SF | ISA_OF)

struct insn {
	u8 len;		/* bytes, 1 to 15 */
	u8 kind;	/* enum isa_kind */
	u8 enc;		/* enum isa_enc */
	u8 map;		/* opcode map: 0 one byte, 1 0F, 2 0F38, 3 0F3A; of VEX, EVEX, XOP as in the prefix */
	u8 opcode;	/* the opcode byte */
	u8 opcode_off;	/* offset of the opcode byte */
	/* offset of the REX byte, of the first VEX/EVEX/XOP byte, or of the opcode (its first 0F) if none */
	u8 prefix_off;
	u8 rex;		/* the REX byte, or 0 */
	u8 modrm_off;	/* 0: no ModRM */
	u8 modrm;
	u8 sib_off;	/* 0: no SIB */
	u8 sib;
	u8 disp_off;	/* 0: no displacement */
	u8 disp_size;	/* 0, 1, 4 (8 for moffs) */
	u8 imm_off;	/* 0: no immediate */
	u8 imm_size;	/* of all immediates together */
	u8 opsize;  /* size in bytes of the first general-register operand in a field, else the effective operand size:
		       1, 2, 4, 8 */
	u8 rm_size; /* size in bytes of the rm operand where it is a general register or memory accessed (0: unknown, or
		       more than 255) */
	u8 base;	/* memory operand's base register, 0xff: none (or RIP) */
	u8 index;	/* its index register, 0xff: none (or a vector) */
	u8 seg;		/* 0, or the segment override prefix 0x64 (fs) or 0x65 (gs) */
	u8 legacy;	/* bit 0: 66, bit 1: F2, bit 2: F3, bit 3: 67, bit 4: F0, bit 5: a seg prefix */
	u16 reads;	/* general registers read, as a mask: explicit, implicit, and in addresses */
	u16 writes;	/* general registers written, as a mask */
	u16 fl_reads;	/* ISA_?F read */
	u16 fl_writes;	/* ISA_?F given a value (or left, where the instruction may do either: see fl_kills) */
	u16 fl_kills; /* ISA_?F that certainly no longer hold the old value and do not depend on it. "Undefined" is not
			 killed, but AF of and, or, xor, test is. Shifts, rotates and rep string instructions kill none.
		       */
	u16 weight;	/* for the cycle model, in quarter cycles: see weight_of() in tools/gen_isa/describe.c */
	u32 attr;	/* ISA_* bits */
	s64 disp;	/* displacement, sign-extended */
	s64 imm;	/* the (first) immediate, sign-extended; for a relative branch its displacement */
};

/*
 * Decodes the instruction at bytes, of which at most avail (up to 15) may be read. Returns its length, 0 if the bytes
 * are no instruction in 64-bit mode (it would raise #UD), or -1 if avail bytes do not hold it whole.
 */
int isa_decode(const u8 *bytes, size_t avail, struct insn *in);

/* The target of a direct branch (ISA_JCC, ISA_LOOP, ISA_JMP, ISA_CALL, ISA_XBEGIN) at address pc. */
static inline u64 isa_target(const struct insn *in, u64 pc)
{
	return pc + in->len + (u64)in->imm;
}

/*
 * Rewrites the instruction in buf (a copy of its in->len bytes) so that every field that names general register `from`
 * names `to` instead (ModRM reg, rm, base, index, VEX vvvv, opcode), adding or removing no bytes except a REX prefix
 * (for C5, the third VEX byte) where one is needed. buf must have room for 16 bytes. Implicit operands cannot be
 * renamed: the caller checks. Updates *in; returns the new length, or -1 if it cannot be done (no REX possible beside
 * ah..bh; r12/rsp, rbp/r13 base forms that need another ModRM); buf and *in are of no use then. Never -1 from r15 to
 * one of rax, rcx, rdx, rbx, rsi, rdi, r8..r11, r14, except for xchg rax, r15 to rax or (with a rep prefix) r8.
 */
int isa_rename(u8 *buf, struct insn *in, unsigned from, unsigned to);

/*
 * Rewrites the instruction in buf so that its memory operand, or with mod 3 its rm register operand (see
 * ISA_NO_MEM_RM), becomes [base + disp] (no index, no RIP, 64-bit whatever prefix 67 said), keeping everything else, a
 * segment too. base is 0..15. disp is encoded in 8 bits if it fits (not for EVEX), else in 32. buf must have room for
 * 16 bytes. Updates *in; returns the new length, or -1 if it cannot be done (vector index; no REX possible beside
 * ah..bh; more than 15 bytes; prefix 67 that also chose a register operand's size; AMX tile rows); buf and *in are of
 * no use then.
 */
int isa_set_mem(u8 *buf, struct insn *in, unsigned base, s32 disp);

#endif
