/* Building an instruction from its fields and asking Zydis about it. */
#ifndef TOOLS_GEN_ISA_PROBE_H
#define TOOLS_GEN_ISA_PROBE_H

#include <Zydis/Zydis.h>

#include "isa/insn.h"

/* One instruction to try. Extension bits are as numbers: 1 extends, however the prefix stores it. */
struct probe {
	u8 enc, map, opcode;
	u8 p66, rep, lock, a32; /* rep: 0, 0xf3 or 0xf2 */
	u8 w, r, x, b;
	u8 pp, ll, vvvv, r2, v2; /* VEX and later */
	u8 bc, aaa, z;		 /* EVEX */
	u8 modrm, sib;
};

void probe_init(void);
_Noreturn void die(const char *why);

/* Zydis' answer, if p is an instruction and its bytes are not something else than p says. */
bool probe_decode(const struct probe *p, ZydisDecodedInstruction *zi, ZydisDecodedOperand *op);
bool probe_valid(const struct probe *p);

/*
 * The same, but if p is invalid because of fields that select nothing, changes them first: most instructions want vvvv
 * 0, some want two registers to differ. Returns false if no such instruction exists.
 */
bool probe_find(struct probe *p, ZydisDecodedInstruction *zi, ZydisDecodedOperand *op);

/* EVEX: log2 of what an 8-bit displacement is multiplied by. */
unsigned probe_disp8_shift(const struct probe *p);

#endif
