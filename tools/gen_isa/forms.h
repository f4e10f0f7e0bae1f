/* What is known about an instruction only by trying others like it: which other forms of it exist. */
#ifndef TOOLS_GEN_ISA_FORMS_H
#define TOOLS_GEN_ISA_FORMS_H

#include "isa/tables.h"
#include "tools/gen_isa/probe.h"

/* p is valid; zi and op are what Zydis says about it, d what describe() does. */

/* ISA_NO_MEM_RM by rule 5 (tools/gen_isa.c), for a p with mod 3. */
bool forms_no_mem_rm(const struct probe *p, const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
		     const struct isa_desc *d);

/* Whether flipping bit 1 of the opcode and exchanging reg and rm gives the same operation. */
bool forms_swap_dir(const struct probe *p, const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
		    const struct isa_desc *d);

/* ISA_C_*: which other uses of fields are invalid. */
u32 forms_checks(const struct probe *p, const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op);

#endif
