/* The code of critical sections: see dbt/rseq_cs.h. */
#include "dbt/rseq_cs.h"
#include "dbt/stop.h"
#include "dbt/trace.h"
#include "dbt/x86_64/emit.h"
#include "rt/log.h"

void rseq_cs_emit_handler(u8 *at, u32 sig)
{
	struct emit e = {.p = at};

	emit32(&e, sig);
	emit_jmp_cpu(&e, CPU_AT(rt_fn) + 8 * RT_RSEQ_CS_ABORT);
}

u64 rseq_cs_address(const struct insn *in, u64 pc)
{
	if (in->map != 0 || in->enc != ISA_LEGACY)
		return 0;
	if (in->opcode == 0x8d && (in->attr & ISA_RIP_REL))
		return pc + in->len + (u64)in->disp;
	if (((in->opcode & 0xf8) == 0xb8 || in->opcode == 0xc7) && in->opsize >= 4 && in->imm == (s32)in->imm)
		return (u32)in->imm;
	return 0;
}

bool rseq_cs_ends_piece(const struct insn *in)
{
	if (!(tr.want & CPU_WANT_RSEQ_CS) || in->kind != ISA_PLAIN || in->enc != ISA_LEGACY)
		return true;
	return (in->attr & (ISA_STORE | ISA_STRING | ISA_X87 | ISA_SSE)) || !(in->writes | in->fl_writes);
}

void rseq_cs_emit_guard(const struct guest_insn *gi)
{
	struct frag *f = &cache.frag[tr.frag];
	struct emit *e = &tr.e;
	u8 *over;

	f->guard = (u32)host_here();
	f->guard_rec = cache.nrec;
	f->stays = true;
	rec_add(gi->pc);
	rec_add(gi->pc)->spills = RCX | RDX << 4;
	emit_store_cpu(e, RCX, CPU_AT(spill[0]));
	emit_store_cpu(e, RDX, CPU_AT(spill[1]));
	emit_load_cpu(e, RCX, CPU_AT(guard.word));
	emit_load_cpu(e, RDX, CPU_AT(guard.minus));
	emit8(e, 0x48), emit8(e, 0x8b), emit8(e, 0x09); /* mov (%rcx), %rcx */
	emit32(e, 0x110c8d48);				 /* lea (%rcx,%rdx), %rcx */
	emit8(e, 0xe3), emit8(e, 0);			 /* jrcxz */
	over = e->p;
	emit_jmp_cpu(e, CPU_AT(rt_fn) + 8 * RT_RSEQ_CS_ABORT);
	check_slow(e->p - over < 128);
	over[-1] = (u8)(e->p - over);
	emit_load_cpu(e, RCX, CPU_AT(spill[0]));
	emit_load_cpu(e, RDX, CPU_AT(spill[1]));
}

void rseq_cs_emit_last(void)
{
	cache.frag[tr.frag].guard_end = (u32)host_here();
	tr.e.done = NULL;
}

void rseq_cs_emitted(const struct guest_insn *gi)
{
	struct frag *f = &cache.frag[tr.frag];

	switch (gi->in.kind) {
	case ISA_JCC:
	case ISA_LOOP:
	case ISA_JMP:
	case ISA_SYSCALL:
	case ISA_SYSENTER:
	case ISA_RDPMC:
	case ISA_XBEGIN:
		return; /* nothing that an abort would have to prevent */
	default:
		f->guard_end = tr.e.done ? (u32)(uintptr_t)tr.e.done : (u32)host_here();
	}
}
