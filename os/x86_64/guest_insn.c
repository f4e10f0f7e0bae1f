/* The registers that an instruction's addresses are made of: see os/guest_insn.h. */
#include "os/guest_insn.h"
#include <asm/prctl.h>
#include "rt/sys.h"

#define SEG_FS 0x64 /* struct insn.seg */
#define SEG_GS 0x65
#define MOV_REG 0x89 /* opcodes: a register to memory, */
#define MOV_IMM 0xc7 /* a constant */

static u64 segment_base(u32 code)
{
	u64 base = 0;

	sys2(__NR_arch_prctl, code, &base);
	return base;
}

/* CPUID leaf 0xd: the area all the same is enabled in XCR0. Asked once: under a hypervisor it is slow. */
static u32 xsave_size(void)
{
	static u32 size;

	if (!size) {
		u32 a = 0xd, b, c = 0, d;

		__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
		size = b;
	}
	return size;
}

void guest_insn_regs(const struct snapshot_regs *regs, const struct insn *in, struct isa_regs *out)
{
	for (u32 r = 0; r < ARRAY_SIZE(out->gpr); r++)
		out->gpr[r] = regs->gpr[r];
	out->rflags = regs->rflags;
	out->fs = in->seg == SEG_FS ? segment_base(ARCH_GET_FS) : 0;
	out->gs = in->seg == SEG_GS ? segment_base(ARCH_GET_GS) : 0;
	out->xsave_size = xsave_size();
}

bool guest_insn_stores(const struct insn *in, const struct isa_regs *regs, u64 value)
{
	if (in->map || in->enc != ISA_LEGACY || in->opsize != 8 || !(in->attr & ISA_STORE))
		return false;
	if (in->opcode == MOV_IMM)
		return (u64)in->imm == value;
	return in->opcode == MOV_REG && regs->gpr[(in->modrm >> 3 & 7) | (in->rex & 4) << 1] == value;
}
