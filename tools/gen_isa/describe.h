/* What an instruction does, from Zydis' answer. The numbered rules are at the top of tools/gen_isa.c. */
#ifndef TOOLS_GEN_ISA_DESCRIBE_H
#define TOOLS_GEN_ISA_DESCRIBE_H

#include <Zydis/Zydis.h>

#include "isa/tables.h"

/* Fills all of *d but check, disp8_shift, ISA_F_MOD3, and the attributes of forms.h. */
void describe(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op, struct isa_desc *d);

#endif
