/*
 * One guest instruction, of which control transfers are most of the work: see dbt/trace.h. Each emit_ function of an
 * instruction returns where the trace may go on, or 0.
 */
#include "dbt/ibl.h"
#include "dbt/lbr.h"
#include "dbt/trace.h"
#include "dbt/translate.h"
#include "dbt/x86_64/calls.h"
#include "dbt/x86_64/emit.h"
#include "dbt/x86_64/lbr.h"
#include "dbt/x86_64/rewrite.h"
#include "rt/log.h"

/* Scratch registers, whose record is to say RCX | RDX << 4. */
static void emit_spill(void)
{
	emit_store_cpu(&tr.e, RCX, CPU_AT(spill[0]));
	emit_store_cpu(&tr.e, RDX, CPU_AT(spill[1]));
}

static void emit_unspill(void)
{
	emit_load_cpu(&tr.e, RCX, CPU_AT(spill[0]));
	emit_load_cpu(&tr.e, RDX, CPU_AT(spill[1]));
}

/* A jump that is to be linked; returns where its displacement is. */
static u8 *emit_jmp_unlinked(void)
{
	emit_align_rel32(&tr.e, 1);
	emit8(&tr.e, 0xe9);
	emit32(&tr.e, 0);
	return tr.e.p - 4;
}

/*
 * Where a conditional branch jumps to. When taken branches are counted or noted, the way there leads over that (which
 * keeps the flags) in the cold part, and it is the jump there that is linked.
 */
static void conditional_exit(u64 from, u64 target, u8 *patch)
{
	bool counted = (tr.want & CPU_WANT_TAKEN) && !(tr.want & CPU_WANT_EXPECT_TAKEN) && !cpu_counts_by_mix(tr.want);
	struct emit hot;
	u8 *used_up = NULL;

	if (!counted && !(tr.want & CPU_WANT_LBR_COND)) {
		exit_add(target, patch);
		return;
	}
	hot = cold_begin(patch);
	if (tr.want & CPU_WANT_LBR_COND) {
		emit_spill();
		lbr_emit(&tr.e, from, target);
		emit_unspill();
	}
	if (counted && stops_at_limits())
		used_up = emit_test_keeping_flags(&tr.e, cpu_cell_at(CELL_TAKEN), 1);
	else if (counted)
		emit_add_keeping_flags(&tr.e, cpu_cell_at(CELL_TAKEN), 1);
	patch = emit_jmp_unlinked();
	cold_end(hot);
	if (used_up)
		limit_exit(used_up, target, 0, 0, true);
	exit_add(target, patch);
}

static u64 emit_jcc(const struct guest_insn *gi)
{
	emit_align_rel32(&tr.e, 2);
	rec_add(gi->pc);
	emit8(&tr.e, 0x0f);
	emit8(&tr.e, 0x80 | (gi->in.opcode & 15));
	emit32(&tr.e, 0);
	tr.taken = tr.e.p - 4;
	return gi->pc + gi->in.len;
}

u8 *emit_loop_on(const struct guest_insn *gi)
{
	emit_align_rel32(&tr.e, 2);
	rec_add(gi->pc);
	emit8(&tr.e, 0x0f);
	emit8(&tr.e, 0x80 | ((gi->in.opcode & 15) ^ 1));
	emit32(&tr.e, 0);
	return tr.e.p - 4;
}

/*
 * A branch out of a span, or out of a loop with so many copies to come: what was counted ahead is taken back in the
 * cold part. If it is not taken the code goes on at `behind`.
 */
static void exit_ahead(u64 target, u64 behind, u8 *patch, u32 copies)
{
	bool dead = copies ? tr.dead_behind : flags_dead_at(target);
	struct increment back[COUNTING_BACK];
	s32 turned = copies ? -1 : 1;
	struct emit hot;
	u32 id, n;

	counting_turned(&tr.count, turned);
	rec_add(target);
	id = cache_exit_new(EXIT_AHEAD, tr.frag, tr.variant, target, patch);
	cache.exit[id].rec = cache.nrec - 1;
	cache.exit[id].dead = dead;
	cache.exit[id].turn = (u8)tr.count.turn;
	n = counting_back(&tr.count, copies, back);
	counting_turned(&tr.count, -turned);
	rec_add(behind); /* what aligns the next jump is not of the target */
	hot = cold_begin(patch);
	cache.exit[id].stub = (u32)host_here();
	emit_increments(back, n, dead);
	patch = emit_jmp_unlinked();
	cold_end(hot);
	exit_add(target, patch);
}

void emit_loop_end(const struct guest_insn *gi, u8 *patch, u32 ahead)
{
	u64 target = gi->pc + gi->in.len;

	if (ahead)
		exit_ahead(target, tr.b.insn[0].pc, patch, ahead);
	else
		exit_add(target, patch);
}

void emit_taken(const struct guest_insn *gi)
{
	u64 target = isa_target(&gi->in, gi->pc);

	if (tr.spans && counting_rest(&tr.count, CELL_INSTRUCTIONS))
		exit_ahead(target, gi->pc + gi->in.len, tr.taken, 0);
	else
		conditional_exit(gi->pc, target, tr.taken);
	tr.taken = NULL;
}

/*
 * loop and jrcxz have 8-bit displacements only. Their prefixes stay, but for 66, which may cut the address: with F2 and
 * F3, AMD's processors choose which ZF loope and loopne ask for.
 */
static u64 emit_loop(const struct guest_insn *gi)
{
	rec_add(gi->pc);
	for (u32 i = 0; i < gi->in.opcode_off; i++)
		if (gi->bytes[i] != 0x66)
			emit8(&tr.e, gi->bytes[i]);
	emit8(&tr.e, gi->in.opcode);
	emit8(&tr.e, 2);
	emit8(&tr.e, 0xeb); /* not taken: over the jump, whose alignment is known after this */
	emit8(&tr.e, 0);
	u8 *over = tr.e.p;
	u8 *patch = emit_jmp_unlinked();
	check_slow(tr.e.p - over < 128);
	over[-1] = (u8)(tr.e.p - over);
	tr.taken = patch;
	return gi->pc + gi->in.len;
}

/* The instruction's record says where its displacement is that a copy must change. There is place for one. */
static void note_fix(void)
{
	struct rec *r = &cache.rec[cache.nrec - 1];
	u64 at = (u64)code_host(tr.e.fix) - cache.frag[tr.frag].host - r->host;

	check_slow(!tr.e.fix || tr.e.fix < tr.e.p);
	if (!tr.e.fix)
		return;
	if (r->fix || at > REC_FIX_MAX)
		cache.frag[tr.frag].stays = true;
	else
		r->fix = at & REC_FIX_MAX;
	cache.frag[tr.frag].fixes = true;
	tr.e.fix = NULL;
}

static void emit_push_return(u64 ret)
{
	if (tr.out != NO_VARIANT)
		ibl_emit_prefetch(&tr.e, &cache.variant[tr.out], ret);
	if (fits_s32((s64)ret)) {
		emit8(&tr.e, 0x68);
		emit32(&tr.e, (u32)ret);
	} else {
		u8 *at = cache_const64(ret);

		emit8(&tr.e, 0xff);
		emit8(&tr.e, 0x35);
		tr.e.fix = tr.e.p;
		emit32(&tr.e, (u32)(at - (tr.e.p + 4)));
	}
	note_fix();
}

static u64 emit_jmp_direct(const struct guest_insn *gi)
{
	u64 target = isa_target(&gi->in, gi->pc);

	if (tr.want & CPU_WANT_LBR_JMP) {
		rec_add(gi->pc)->spills = RCX | RDX << 4;
		emit_spill();
		lbr_emit(&tr.e, gi->pc, target);
		emit_unspill();
	}
	return target;
}

static u64 emit_call(const struct guest_insn *gi)
{
	u64 target = isa_target(&gi->in, gi->pc), ret = gi->pc + gi->in.len;
	struct rec *r = rec_add(gi->pc);

	if (!(tr.want & (CPU_WANT_LBR_CALL | CPU_WANT_CALLS))) {
		emit_push_return(ret);
		return target;
	}
	r->spills = RCX | RDX << 4;
	emit_spill();
	emit_push_return(ret);
	tr.e.done = tr.e.p;
	if (tr.want & CPU_WANT_CALLS)
		calls_emit_push(&tr.e, ret, gi->in.len, target);
	if (tr.want & CPU_WANT_LBR_CALL)
		lbr_emit(&tr.e, gi->pc, target);
	emit_unspill();
	return target;
}

/* An indirect branch has done what it does to the stack, and its target is in rcx: notes it where that is wanted. */
static void emit_note_indirect(const struct guest_insn *gi)
{
	if (tr.want & lbr_want_bit(gi->in.kind))
		lbr_emit_indirect(&tr.e, gi->pc);
	if (!(tr.want & CPU_WANT_CALLS))
		return;
	if (gi->in.kind == ISA_RET) {
		calls_emit_pop(&tr.e);
	} else if (gi->in.kind == ISA_CALL_IND) {
		emit_store_cpu(&tr.e, RCX, CPU_AT(target));
		calls_emit_push(&tr.e, gi->pc + gi->in.len, gi->in.len, 0);
		emit_load_cpu(&tr.e, RCX, CPU_AT(target));
	}
}

static u64 emit_indirect(const struct guest_insn *gi)
{
	rec_add(gi->pc)->spills = RCX | RDX << 4;
	emit_spill();
	if (gi->in.kind == ISA_RET) {
		emit8(&tr.e, 0x59); /* pop %rcx */
		if (gi->in.imm_size) {
			/* lea imm(%rsp), %rsp */
			emit32(&tr.e, 0x24a48d48);
			emit32(&tr.e, (u16)gi->in.imm);
		}
	} else {
		rewrite_branch_operand(&tr.e, gi->bytes, &gi->in, gi->pc);
		note_fix();
		if (gi->in.kind == ISA_CALL_IND)
			emit_push_return(gi->pc + gi->in.len);
	}
	tr.e.done = tr.e.p;
	emit_note_indirect(gi);
	if (tr.out == NO_VARIANT) {
		emit_jmp(&tr.e, cache.miss);
	} else {
		bool in_rdx = emit_late();

		cache.frag[tr.frag].lookup = (u32)host_here();
		ibl_emit_lookup(&tr.e, &cache.variant[tr.out], tr.b.late ? poll_word() : 0, in_rdx);
	}
	return 0;
}

/*
 * A transaction that aborts at once, without a reason: what a processor may always do. The processor's own instruction
 * stands in front, since one without transactions raises SIGILL.
 */
static u64 emit_xbegin(const struct guest_insn *gi)
{
	static const u8 code[] = {0xc7, 0xf8, 0, 0, 0, 0, /* xbegin to the next instruction */
				  0xc6, 0xf8, 0};	  /* xabort $0 */

	rec_add(gi->pc);
	for (u32 i = 0; i < sizeof(code); i++)
		emit8(&tr.e, code[i]);
	emit_mov_imm(&tr.e, RAX, 0);
	return isa_target(&gi->in, gi->pc);
}

static u64 emit_plain(const struct guest_insn *gi)
{
	struct rec *r = rec_add(gi->pc);

	r->spills = rewrite_insn(&tr.e, gi->bytes, &gi->in, gi->pc);
	note_fix();
	return gi->pc + gi->in.len;
}

/*
 * The trap flag is never the processor's: a popf that would set it is left to os/. What the test does to the flags is
 * of no consequence. A copy's jump would lead nowhere.
 */
static u64 emit_popf(const struct guest_insn *gi)
{
	static const u8 test[] = {0xf7, 0x04, 0x24, 0x00, 0x01, 0x00, 0x00}; /* testl $0x100, (%rsp) */
	u32 rec = cache.nrec;
	struct emit hot;

	rec_add(gi->pc);
	cache.frag[tr.frag].stays = true;
	if (gi->in.legacy & 1)
		emit8(&tr.e, 0x66);
	for (u32 i = 0; i < sizeof(test) - (gi->in.legacy & 1 ? 2 : 0); i++)
		emit8(&tr.e, test[i]);
	emit_align_rel32(&tr.e, 2);
	emit8(&tr.e, 0x0f), emit8(&tr.e, 0x85); /* jnz */
	emit32(&tr.e, 0);
	hot = cold_begin(tr.e.p - 4);
	emit_stop(EXIT_EMULATE, gi->pc, rec);
	cold_end(hot);
	for (u32 i = 0; i < gi->in.len; i++)
		emit8(&tr.e, gi->bytes[i]);
	return gi->pc + gi->in.len;
}

u64 emit_insn(const struct guest_insn *gi)
{
	switch (gi->in.kind) {
	case ISA_JCC:
		return emit_jcc(gi);
	case ISA_LOOP:
		return emit_loop(gi);
	case ISA_JMP:
		return emit_jmp_direct(gi);
	case ISA_CALL:
		return emit_call(gi);
	case ISA_JMP_IND:
	case ISA_CALL_IND:
	case ISA_RET:
		return emit_indirect(gi);
	case ISA_SYSCALL:
		rec_add(gi->pc);
		emit_stop(EXIT_SYSCALL, gi->pc + gi->in.len, 0);
		return 0;
	case ISA_SYSENTER:
		rec_add(gi->pc);
		emit_stop(EXIT_SYSENTER, gi->pc, 0);
		return 0;
	case ISA_RDPMC:
		rec_add(gi->pc);
		emit_stop(EXIT_RDPMC, gi->pc, 0);
		return 0;
	case ISA_CPUID:
		rec_add(gi->pc);
		emit_stop(EXIT_CPUID, gi->pc, 0);
		return 0;
	case ISA_XGETBV:
		rec_add(gi->pc);
		emit_stop(EXIT_XGETBV, gi->pc, 0);
		return 0;
	case ISA_RDTSC:
		if (!dbt_options.stop_at_tsc)
			return emit_plain(gi);
		rec_add(gi->pc);
		emit_stop(EXIT_RDTSC, gi->pc, 0);
		return 0;
	case ISA_FAR:
		rec_add(gi->pc);
		emit_stop(EXIT_EMULATE, gi->pc, 0);
		return 0;
	case ISA_POPF:
		return emit_popf(gi);
	case ISA_XBEGIN:
		return emit_xbegin(gi);
	default:
		return emit_plain(gi);
	}
}
