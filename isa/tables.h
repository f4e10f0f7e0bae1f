/*
 * The form of the generated decoder tables: shared by tools/gen_isa.c, which writes them, and decode.c, which reads
 * them.
 *
 * An opcode's cell is found by its map, its opcode byte and, for legacy maps, by the prefixes that change its meaning
 * (ISA_CTX_*). A cell is 0 (no instruction), the index of a struct isa_desc, or, with ISA_CELL_NODE, the place
 * in isa_nodes[] of a node: one word that says which bits of the key select, followed by the cells to select from.
 *
 * Descriptors of instructions with a ModRM byte come in pairs: the first is for a memory operand, the second for mod 3;
 * one of them may be ISA_F_INVALID.
 */
#ifndef ISA_TABLES_H
#define ISA_TABLES_H

#include "abi/types.h"

#define ISA_CELL_NODE 0x8000u

/* The key: what beside the opcode can choose between instructions. A node's first word is shift | mask << 8. */
#define ISA_KEY_RM  0  /* 3 bits: modrm.rm; these two are where ModRM has them */
#define ISA_KEY_REG 3  /* 3 bits: modrm.reg */
#define ISA_KEY_B   8  /* 1 bit: REX.B */
#define ISA_KEY_R   9  /* 1 bit: REX.R */
#define ISA_KEY_A32 10 /* 1 bit: prefix 67 */
#define ISA_KEY_W   11 /* 1 bit: VEX.W */
#define ISA_KEY_PP  12 /* 2 bits: VEX.pp */
#define ISA_KEY_LL  14 /* 2 bits: VEX.L, EVEX.L'L */
#define ISA_KEY_BC  16 /* 1 bit: EVEX.b */

/* Legacy maps are indexed by these prefixes: 66, REX.W and the last of F3 and F2. */
#define ISA_CTX_66    1
#define ISA_CTX_W     2
#define ISA_CTX_F3    4
#define ISA_CTX_F2    8
#define ISA_CTX_COUNT 12

/* Rows of isa_prefixed[]: the opcode maps of VEX, EVEX and XOP. The last row is 3DNow's, by its suffix. */
enum {
	ISA_ROW_VEX = 0,  /* maps 1 to 3 */
	ISA_ROW_EVEX = 3, /* maps 1 to 6 */
	ISA_ROW_XOP = 9,  /* maps 8 to 10 */
	ISA_ROW_3DNOW = 12,
	ISA_ROW_COUNT
};

/* Which fields name a general register, and what happens to it: isa_desc.fields. */
#define ISA_F_REG_R   0x0001u
#define ISA_F_REG_W   0x0002u
#define ISA_F_RM_R    0x0004u
#define ISA_F_RM_W    0x0008u
#define ISA_F_VVVV_R  0x0010u
#define ISA_F_VVVV_W  0x0020u
#define ISA_F_OP_R    0x0040u
#define ISA_F_OP_W    0x0080u
#define ISA_F_REG8    0x0100u /* the register is an 8-bit one: 4 to 7 without REX are ah, ch, dh, bh */
#define ISA_F_RM8     0x0200u
#define ISA_F_OP8     0x0400u
#define ISA_F_ANY8    (ISA_F_REG8 | ISA_F_RM8 | ISA_F_OP8)
#define ISA_F_MODRM   0x0800u /* has a ModRM byte */
#define ISA_F_MOFFS   0x1000u /* has an 8 byte (with prefix 67: 4 byte) address instead */
#define ISA_F_LOCK    0x2000u /* accepts a lock prefix */
#define ISA_F_INT     0x4000u /* int imm8: the immediate decides about the kind */
#define ISA_F_INVALID 0x8000u
#define ISA_F_NOP     0x20000u /* the address is not used */
#define ISA_F_MOD3    0x10000u /* mod is ignored: always registers (mov to and from control registers) */

/* Uses of fields that make a VEX, EVEX or XOP instruction (and a few legacy ones) invalid: isa_desc.check. */
#define ISA_C_VVVV	0x00001u /* vvvv not 0 (as a number: 1111 in the byte) */
#define ISA_C_VVVV8	0x00002u /* vvvv above 7 */
#define ISA_C_V2	0x00004u /* EVEX.V' extends */
#define ISA_C_R		0x00008u /* R extends */
#define ISA_C_R2	0x00010u /* EVEX.R' extends */
#define ISA_C_X		0x00020u /* X extends, mod 3 */
#define ISA_C_B		0x00040u /* B extends, mod 3 */
#define ISA_C_MASK	0x00080u /* EVEX.aaa not 0 */
#define ISA_C_NO_MASK	0x00100u /* EVEX.aaa 0 */
#define ISA_C_Z		0x00200u /* EVEX.z */
#define ISA_C_Z_NO_MASK 0x00400u /* EVEX.z with aaa 0 */
#define ISA_C_NO_SIB	0x00800u /* memory operand without SIB */
#define ISA_C_RIP	0x01000u /* RIP-relative memory operand */
#define ISA_C_A32	0x02000u /* prefix 67 */
#define ISA_C_REG_V	0x04000u /* reg and vvvv the same register */
#define ISA_C_REG_RM	0x08000u /* reg and rm the same register */
#define ISA_C_RM_V	0x10000u /* rm and vvvv the same register */
#define ISA_C_REG_IDX	0x20000u /* reg and the vector index the same register */
#define ISA_C_IDX_V	0x40000u /* the vector index and vvvv the same register */

struct isa_desc {
	u32 attr;   /* ISA_* of insn.h that do not depend on operands */
	u32 fields; /* ISA_F_* */
	u32 check;  /* ISA_C_* */
	u16 reads;  /* implicit registers */
	u16 writes;
	u16 fl_reads;
	u16 fl_writes;
	u16 fl_kills;
	u16 weight;
	u8 kind;
	u8 opsize;
	u8 rm_size;
	u8 imm_size;	/* all immediates together */
	u8 imm_first;	/* the first one */
	u8 disp8_shift; /* EVEX: log2 of what an 8-bit displacement is multiplied by */
};

#endif
