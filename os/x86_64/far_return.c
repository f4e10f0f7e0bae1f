/* See far_return.h. */
#include "os/x86_64/far_return.h"

#include <asm/siginfo.h>
#include <asm/signal.h>
#include "os/guest_insn.h"
#include "os/sig/signal.h"
#include "os/trap_flag.h"
#include "perf/perf.h"
#include "rt/guest.h"

#define USER_CS 0x33u /* the kernel's, of 64-bit code */
#define USER_DS 0x2bu
#define FLAGS_CHANGED 0x244dd5ul /* what popf and iret of user mode take: ID, AC, NT and those below bit 12, but IF */
#define FLAGS_FIXED 0x202ul
#define NESTED_TASK 0x4000ul

#define OP_POPF 0x9d
#define OP_LRET_IMM 0xca
#define OP_LRET 0xcb
#define TRAP_PROTECTION 13

/* The words of a frame: rip, cs, rflags, rsp, ss. */
struct far_frame {
	u64 word[5];
};

static u32 operand_size(const struct insn *in)
{
	if (in->rex & 8)
		return 8;
	if (in->legacy & 1)
		return 2;
	return in->opcode == OP_POPF ? 8 : 4;
}

/* n words of the stack. A fault is the guest's, at the word that cannot be read. */
static bool pop(struct thread *t, u32 n, u32 size, struct far_frame *out)
{
	gva at = cpu_get_gpr(t->cpu, RSP);

	*out = (struct far_frame){{0}};
	for (u32 i = 0; i < n; i++, at += size) {
		if (!guest_read(&out->word[i], at, size))
			continue;
		signal_fault(t, SIGSEGV, SEGV_MAPERR, at, 14, 4);
		return false;
	}
	return true;
}

static bool refused(struct thread *t, u64 selector)
{
	signal_fault(t, SIGSEGV, SIG_CODE_KERNEL, 0, TRAP_PROTECTION, selector & 0xfffc);
	return false;
}

static u64 with_flags(const struct thread *t, u64 value, u32 size)
{
	u64 changed = size == 2 ? FLAGS_CHANGED & 0xffff : FLAGS_CHANGED;

	return (t->cpu->rflags & ~changed) | (value & changed) | FLAGS_FIXED;
}

static bool popf(struct thread *t, const struct insn *in, u32 size)
{
	struct far_frame f;

	if (!pop(t, 1, size, &f))
		return false;
	cpu_set_gpr(t->cpu, RSP, cpu_get_gpr(t->cpu, RSP) + size);
	t->cpu->rflags = with_flags(t, f.word[0], size);
	t->cpu->rip += in->len;
	return true;
}

static bool lret(struct thread *t, const struct insn *in, u32 size)
{
	struct far_frame f;

	if (!pop(t, 2, size, &f))
		return false;
	if ((u16)f.word[1] != USER_CS)
		return refused(t, f.word[1]);
	cpu_set_gpr(t->cpu, RSP, cpu_get_gpr(t->cpu, RSP) + 2 * size + (in->opcode == OP_LRET_IMM ? (u16)in->imm : 0));
	t->cpu->rip = f.word[0];
	return true;
}

static bool iret(struct thread *t, u32 size)
{
	struct far_frame f;

	if (t->cpu->rflags & NESTED_TASK)
		return refused(t, 0);
	if (!pop(t, 5, size, &f))
		return false;
	if ((u16)f.word[1] != USER_CS)
		return refused(t, f.word[1]);
	if ((u16)f.word[4] != USER_DS)
		return refused(t, f.word[4]);
	t->cpu->rip = f.word[0];
	t->cpu->rflags = with_flags(t, f.word[2], size);
	cpu_set_gpr(t->cpu, RSP, f.word[3]);
	return true;
}

void far_return_emulate(struct thread *t)
{
	u64 traced = t->cpu->rflags & FLAGS_STEP;
	struct snapshot_regs before;
	struct insn in;
	bool done;

	perf_regs(t->cpu, &before);
	if (!guest_insn_decode(t->cpu->rip, &in))
		return; /* another thread has changed it: it is translated again */
	if (in.kind == ISA_POPF)
		done = popf(t, &in, operand_size(&in));
	else if (in.opcode == OP_LRET || in.opcode == OP_LRET_IMM)
		done = lret(t, &in, operand_size(&in));
	else
		done = iret(t, operand_size(&in));
	if (!done)
		return;
	perf_counted(t, &before, &in);
	if (traced)
		trap_flag_raise(t);
}
