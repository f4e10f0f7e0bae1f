/* See dbt/translate.h. Everything here runs with dbt_lock held, so the work area can be static. */
#include "dbt/translate.h"
#include <linux/signal.h>
#include "dbt/breaks.h"
#include "dbt/calls.h"
#include "dbt/counting.h"
#include "dbt/guest_code.h"
#include "dbt/ibl.h"
#include "dbt/lbr.h"
#include "dbt/rewrite.h"
#include "dbt/stop.h"
#include "dbt/watch.h"
#include "rt/log.h"
#include "rt/stats.h"

#define TRACE_BLOCKS 8u
#define BLOCK_INSNS CPU_BLOCK_INSNS
#define TRACE_INSNS 512u
#define LOOKAHEAD 6 /* instructions */

struct dbt_options dbt_options;

struct guest_insn {
	struct insn in;
	u64 pc;
	u8 bytes[ISA_MAX_LEN];
};

static struct {
	struct guest_code code;
	struct emit e;
	u32 variant;
	u32 want; /* CPU_WANT_* of the variant */
	u32 out;  /* variant that its exits lead to: itself, but for CPU_WANT_FINE; NO_VARIANT: they are not linked */
	u32 fine; /* variant that goes on near a limit; NO_VARIANT: none */
	u32 frag;
	u64 base; /* pc of the fragment */
	u32 first_entry;
	u32 insns, blocks;
	bool checked; /* its blocks compare the guest's bytes before they run */
	bool breaks;  /* the block at hand begins with a breakpoint */

	/* The block at hand. */
	struct guest_insn insn[BLOCK_INSNS];
	u32 n;
	struct counting count;
} tr;

/* ---- decoding a block ---- */

static bool ends_block(const struct insn *in)
{
	switch (in->kind) {
	case ISA_PLAIN:
	case ISA_PUSHF:
	case ISA_POPF:
	case ISA_CPUID:
	case ISA_RDTSC:
	case ISA_FSGSBASE:
	case ISA_SEGLOAD:
		return false;
	default:
		return true;
	}
}

/* Handled by os/, which must find it alone at the start of a block, so that nothing is counted for it beforehand. */
static bool stands_alone(const struct insn *in)
{
	return in->kind == ISA_SYSENTER || in->kind == ISA_RDPMC;
}

/* Fills tr.insn with the block at pc. Returns false, and *fault, if its first instruction cannot be had. */
static bool decode_block(u64 pc, struct dbt_fault *fault)
{
	u32 limit = dbt_options.one_insn || (tr.want & (CPU_WANT_ONE | CPU_WANT_FINE)) ? 1 : BLOCK_INSNS;

	tr.n = 0;
	tr.breaks = (tr.want & CPU_WANT_BREAK) && breaks_at(pc);
	if (tr.breaks)
		limit = 1;
	while (tr.n < limit) {
		struct guest_insn *gi = &tr.insn[tr.n];
		const u8 *bytes;
		size_t avail = guest_code_at(&tr.code, pc, &bytes, fault);
		int len = avail ? isa_decode(bytes, avail, &gi->in) : -1;

		if (len <= 0 || gi->in.kind == ISA_FAR) {
			/* len < 0: *fault is about the byte after the last that may be executed. */
			if (len >= 0)
				*fault = (struct dbt_fault){SIGILL, ILL_ILLOPN, pc};
			break;
		}
		if (tr.n && (stands_alone(&gi->in) || ((tr.want & CPU_WANT_BREAK) && breaks_at(pc))))
			break;
		/* Checked and other code do not mix. */
		if (tr.code.checked && !tr.checked) {
			if (tr.n || tr.blocks)
				break;
			tr.checked = true;
		}
		gi->pc = pc;
		memcpy(gi->bytes, bytes, (size_t)len);
		pc += (u64)len;
		tr.n++;
		/* In checked code every store may be to the instructions that follow. */
		if (ends_block(&gi->in) || (tr.checked && (gi->in.attr & ISA_STORE)))
			break;
	}
	return tr.n > 0;
}

/* ---- flags ---- */

static u32 live_before(const struct insn *in, u32 live)
{
	return ((live & ~in->fl_kills) | in->fl_reads) & ISA_STATUS;
}

/* Which status flags the code at pc may read before it sets them: a short look ahead, never wrong towards "dead". */
static u32 flags_live_at(u64 pc)
{
	u32 dead = 0;

	for (int i = 0; i < LOOKAHEAD && dead != ISA_STATUS; i++) {
		struct insn in;
		struct dbt_fault fault;
		const u8 *bytes;
		size_t avail = guest_code_at(&tr.code, pc, &bytes, &fault);

		if (!avail || isa_decode(bytes, avail, &in) <= 0)
			return ISA_STATUS;
		if (in.fl_reads & ISA_STATUS & ~dead)
			return ISA_STATUS;
		dead |= in.fl_kills & ISA_STATUS;
		if (in.kind == ISA_JMP || in.kind == ISA_CALL)
			pc = isa_target(&in, pc);
		else if (in.kind != ISA_PLAIN)
			break;
		else
			pc += in.len;
	}
	return ISA_STATUS & ~dead;
}

static u32 flags_live_out(const struct guest_insn *last)
{
	u64 next = last->pc + last->in.len;

	switch (last->in.kind) {
	case ISA_JCC:
	case ISA_LOOP:
		return flags_live_at(next) | flags_live_at(isa_target(&last->in, last->pc));
	case ISA_JMP:
	case ISA_CALL:
		return flags_live_at(isa_target(&last->in, last->pc));
	case ISA_PLAIN:
		return flags_live_at(next);
	default:
		return ISA_STATUS;
	}
}

/*
 * Where in the block an add to memory does no harm: before instruction k, or tr.n at its end; -1: nowhere. Prefers a place from
 * which nothing can fault until the flags are set again, so that even a signal frame shows them as they should be.
 */
static int find_flag_dead_place(void)
{
	int any = -1, best = -1;

	for (int pass = 0; pass < 2 && any < 0; pass++) {
		u32 live = pass ? flags_live_out(&tr.insn[tr.n - 1]) : ISA_STATUS;
		bool quiet = false;

		if (!live && tr.insn[tr.n - 1].in.kind == ISA_PLAIN)
			any = (int)tr.n;
		for (int k = (int)tr.n - 1; k >= 0; k--) {
			const struct insn *in = &tr.insn[k].in;

			live = live_before(in, live);
			if (in->attr & (ISA_LOAD | ISA_STORE | ISA_DIV))
				quiet = false;
			else if ((in->fl_kills & ISA_STATUS) == ISA_STATUS)
				quiet = true;
			if (!live) {
				any = k;
				if (quiet)
					best = k;
			}
		}
	}
	return best >= 0 ? best : any;
}

/* Whether the flags are dead before the block's first instruction. */
static bool flags_dead_at_start(void)
{
	for (int pass = 0; pass < 2; pass++) {
		u32 live = pass ? flags_live_out(&tr.insn[tr.n - 1]) : ISA_STATUS;

		for (u32 k = tr.n; k-- > 0;)
			live = live_before(&tr.insn[k].in, live);
		if (!live)
			return true;
	}
	return false;
}

/* A single step shows the flags as they are, also where the instruction faults. */
static bool flags_dead_for_one(const struct insn *in)
{
	return !live_before(in, ISA_STATUS) && !(in->attr & (ISA_LOAD | ISA_STORE | ISA_DIV));
}

/* Some limit is exact. Quotas leave room for the part of a block that is done before it is counted. */
static bool stops_in_front(void)
{
	return (tr.want & CPU_WANT_LIMITS) && (tr.want & (CPU_WANT_NEAR | CPU_WANT_FINE | CPU_WANT_KINDS | CPU_WANT_CYCLES));
}

/* Where the block's increments are made, as find_flag_dead_place(); *safe: the flags are dead there. */
static u32 find_place(bool *safe)
{
	int place;

	*safe = true;
	if (tr.want & CPU_WANT_ONE)
		*safe = flags_dead_for_one(&tr.insn[0].in);
	else if (stops_in_front())
		*safe = flags_dead_at_start();
	else if ((place = find_flag_dead_place()) >= 0)
		return (u32)place;
	else
		*safe = false;
	return 0;
}

/* ---- records, entries, exits ---- */

static u64 host_here(void)
{
	return (u64)(uintptr_t)tr.e.p;
}

/* A boundary in front of the guest instruction at pc: everything before it is done, with the counts of tr.count. */
static struct rec *rec_add(u64 pc)
{
	struct frag *f = &cache.frag[tr.frag];
	struct rec *r = &cache.rec[cache.nrec];

	*r = (struct rec){
		.guest = (s32)(pc - tr.base),
		.host = (u16)(host_here() - f->host),
		.spills = SPILLS_NONE,
	};
	counting_delta(&tr.count, r, tr.want & CPU_WANT_KINDS ? &cache.kinds[cache.nrec] : NULL);
	cache.nrec++;
	f->nrec++;
	return r;
}

static u32 find_entry(u64 pc)
{
	if (tr.out == NO_VARIANT)
		return 0;
	for (u32 i = tr.first_entry; i < cache.nentry && tr.out == tr.variant; i++)
		if (cache.entry[i].pc == pc)
			return i;
	return cache_find(&cache.variant[tr.out], pc);
}

static void entry_add(u64 pc)
{
	cache.entry[cache.nentry++] = (struct entry){.pc = pc, .host = (u32)host_here(), .frag = tr.frag};
}

/* Makes the 4 bytes at `patch` lead to target. */
static void exit_add(u64 target, u8 *patch)
{
	u32 id = cache_exit_new(EXIT_BRANCH, tr.frag, tr.out, target, patch);
	u32 to = dbt_options.no_links ? 0 : find_entry(target);

	if (to)
		cache_exit_link(id, to);
	else
		cache_exit_unlink(id);
}

static void emit_exit_jmp(u64 target)
{
	emit_align_rel32(&tr.e, 1);
	rec_add(target);
	emit8(&tr.e, 0xe9);
	emit32(&tr.e, 0);
	exit_add(target, tr.e.p - 4);
}

/* Leaves, to go on at pc; `rec` makes the counts right there, 0: they are. Returns the exit. */
static struct exit *emit_stop(enum exit_kind kind, u64 pc, u32 rec)
{
	u32 id = cache_exit_new(kind, tr.frag, tr.variant, pc, NULL);

	cache.exit[id].rec = rec;
	emit8(&tr.e, 0x41);
	emit8(&tr.e, 0xc7);
	emit_cpu_mem(&tr.e, 0, offsetof(struct cpu, exit_id));
	emit32(&tr.e, id);
	emit_jmp_cpu(&tr.e, offsetof(struct cpu, rt_fn) + 8 * RT_LEAVE_EXIT);
	return &cache.exit[id];
}

/* Code in the cold part that the displacement at `patch` leads to is emitted next, until cold_end(). */
static struct emit cold_begin(u8 *patch)
{
	struct emit hot = tr.e;

	tr.e.p = cache.cold;
	emit_patch_rel32(patch, tr.e.p);
	return hot;
}

static void cold_end(struct emit hot)
{
	cache.cold = tr.e.p;
	tr.e = hot;
}

/* ---- counting ---- */

/*
 * Makes the displacement at `patch` leave because a word is used up, in front of pc. `spilled`: with rcx in spill[0].
 */
static void limit_exit(u8 *patch, u64 pc, u32 rec, u8 undo, bool exact, bool spilled)
{
	struct emit hot = cold_begin(patch);
	struct exit *x;

	if (spilled)
		emit_load_cpu(&tr.e, RCX, offsetof(struct cpu, spill[0]));
	x = emit_stop(EXIT_LIMIT, pc, rec);
	x->exact = exact;
	x->undo = undo;
	cold_end(hot);
}

/* A countdown is used up in front of pc: goes on one instruction at a time. The exit is as a branch's. */
static void fine_exit(u8 *patch, u64 pc, bool spilled)
{
	struct emit hot = cold_begin(patch);
	u32 id, to;

	counting_take_back(&tr.e, &tr.count, spilled);
	if (spilled)
		emit_load_cpu(&tr.e, RCX, offsetof(struct cpu, spill[0]));
	emit_align_rel32(&tr.e, 1);
	emit8(&tr.e, 0xe9);
	emit32(&tr.e, 0);
	id = cache_exit_new(EXIT_LIMIT, tr.frag, tr.fine, pc, tr.e.p - 4);
	cold_end(hot);
	to = dbt_options.no_links ? 0 : cache_find(&cache.variant[tr.fine], pc);
	if (to)
		cache_exit_link(id, to);
	else
		cache_exit_unlink(id);
}

static void emit_increment(u64 pc, const struct increment *inc, bool flags_dead)
{
	u8 *patch;

	rec_add(pc);
	if (!(tr.want & CPU_WANT_LIMITS)) {
		if (flags_dead)
			emit_add_cpu(&tr.e, inc->disp, inc->n);
		else
			counting_add_keeping_flags(&tr.e, inc->disp, inc->n);
		counting_made(&tr.count, inc);
		return;
	}
	if (flags_dead) {
		emit_add_cpu(&tr.e, inc->disp, inc->n);
		/* jns */
		emit8(&tr.e, 0x0f), emit8(&tr.e, 0x89);
		emit32(&tr.e, 0);
		patch = tr.e.p - 4;
	} else {
		patch = counting_test_keeping_flags(&tr.e, inc->disp, inc->n);
	}
	counting_made(&tr.count, inc);
	rec_add(pc);
	if (inc->down && tr.fine != NO_VARIANT)
		fine_exit(patch, pc, !flags_dead);
	else
		limit_exit(patch, pc, cache.nrec - 1, counting_made_down(&tr.count), inc->exact, !flags_dead);
}

static void emit_counting(u64 pc, bool flags_dead)
{
	struct increment inc;

	while (counting_next(&tr.count, &inc))
		emit_increment(pc, &inc, flags_dead);
}

/* Behind a conditional branch that was expected to be taken. */
static void emit_not_taken(const struct guest_insn *gi)
{
	if (!(tr.want & CPU_WANT_EXPECT_TAKEN) || (gi->in.kind != ISA_JCC && gi->in.kind != ISA_LOOP))
		return;
	counting_not_taken(&tr.count);
	rec_add(gi->pc + gi->in.len);
	counting_add_keeping_flags(&tr.e, (s32)cpu_cell_offset(CELL_TAKEN), -1);
}

/* ---- control transfers: each returns where the trace may go on, or 0 ---- */

/* Scratch registers, whose record is to say RCX | RDX << 4. */
static void emit_spill(void)
{
	emit_store_cpu(&tr.e, RCX, offsetof(struct cpu, spill[0]));
	emit_store_cpu(&tr.e, RDX, offsetof(struct cpu, spill[1]));
}

static void emit_unspill(void)
{
	emit_load_cpu(&tr.e, RCX, offsetof(struct cpu, spill[0]));
	emit_load_cpu(&tr.e, RDX, offsetof(struct cpu, spill[1]));
}

/*
 * Where a conditional branch jumps to. When taken branches are counted or noted, the way there leads over that (which keeps
 * the flags) in the cold part, and it is the jump there that is linked.
 */
static void conditional_exit(u64 from, u64 target, u8 *patch)
{
	bool counted = (tr.want & CPU_WANT_KINDS) && !(tr.want & CPU_WANT_EXPECT_TAKEN);
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
	if (counted && (tr.want & CPU_WANT_LIMITS))
		used_up = counting_test_keeping_flags(&tr.e, (s32)cpu_cell_offset(CELL_TAKEN), 1);
	else if (counted)
		counting_add_keeping_flags(&tr.e, (s32)cpu_cell_offset(CELL_TAKEN), 1);
	emit_align_rel32(&tr.e, 1);
	emit8(&tr.e, 0xe9);
	emit32(&tr.e, 0);
	patch = tr.e.p - 4;
	cold_end(hot);
	if (used_up)
		limit_exit(used_up, target, 0, 0, false, true);
	exit_add(target, patch);
}

static u64 emit_jcc(const struct guest_insn *gi)
{
	emit_align_rel32(&tr.e, 2);
	rec_add(gi->pc);
	emit8(&tr.e, 0x0f);
	emit8(&tr.e, 0x80 | (gi->in.opcode & 15));
	emit32(&tr.e, 0);
	conditional_exit(gi->pc, isa_target(&gi->in, gi->pc), tr.e.p - 4);
	return gi->pc + gi->in.len;
}

/* loop and jrcxz have 8-bit displacements only. */
static u64 emit_loop(const struct guest_insn *gi)
{
	rec_add(gi->pc);
	if (gi->in.legacy & 8)
		emit8(&tr.e, 0x67);
	emit8(&tr.e, gi->in.opcode);
	emit8(&tr.e, 2);
	emit8(&tr.e, 0xeb); /* not taken: over the jump, whose alignment is known after this */
	emit8(&tr.e, 0);
	u8 *over = tr.e.p;
	emit_align_rel32(&tr.e, 1);
	emit8(&tr.e, 0xe9);
	emit32(&tr.e, 0);
	u8 *patch = tr.e.p - 4;
	over[-1] = (u8)(tr.e.p - over);
	conditional_exit(gi->pc, isa_target(&gi->in, gi->pc), patch);
	return gi->pc + gi->in.len;
}

static void emit_push_return(u64 ret)
{
	if (fits_s32((s64)ret)) {
		emit8(&tr.e, 0x68);
		emit32(&tr.e, (u32)ret);
	} else {
		u8 *at = cache_const64(ret);

		emit8(&tr.e, 0xff);
		emit8(&tr.e, 0x35);
		emit32(&tr.e, (u32)(at - (tr.e.p + 4)));
	}
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
		emit_store_cpu(&tr.e, RCX, offsetof(struct cpu, target));
		calls_emit_push(&tr.e, gi->pc + gi->in.len, gi->in.len, 0);
		emit_load_cpu(&tr.e, RCX, offsetof(struct cpu, target));
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
		if (gi->in.kind == ISA_CALL_IND)
			emit_push_return(gi->pc + gi->in.len);
	}
	emit_note_indirect(gi);
	if (tr.out == NO_VARIANT)
		emit_jmp(&tr.e, cache.miss);
	else
		ibl_emit_lookup(&tr.e, &cache.variant[tr.out]);
	return 0;
}

/* A transaction that aborts at once, without a reason: what a processor may always do. */
static u64 emit_xbegin(const struct guest_insn *gi)
{
	rec_add(gi->pc);
	emit_mov_imm(&tr.e, RAX, 0);
	return isa_target(&gi->in, gi->pc);
}

static u64 emit_plain(const struct guest_insn *gi)
{
	struct rec *r = rec_add(gi->pc);

	r->spills = rewrite_insn(&tr.e, gi->bytes, &gi->in, gi->pc);
	return gi->pc + gi->in.len;
}

static u64 emit_insn(const struct guest_insn *gi)
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
	case ISA_XBEGIN:
		return emit_xbegin(gi);
	default:
		return emit_plain(gi);
	}
}

/* ---- checked code ---- */

/* mov $-want, %rcx; add the size bytes at addr; on to the next check if that is zero, else out by way of `stale` later */
static u8 *emit_compare(u64 addr, const u8 *bytes, u32 size)
{
	u64 want = 0;

	memcpy(&want, bytes, size);
	/* movabs addr, %rax / %eax / %al */
	if (size == 8)
		emit8(&tr.e, 0x48);
	emit8(&tr.e, size == 1 ? 0xa0 : 0xa1);
	emit64(&tr.e, addr);
	if (size == 1)
		emit8(&tr.e, 0x0f), emit8(&tr.e, 0xb6), emit8(&tr.e, 0xc0); /* movzbl %al, %eax */
	emit_mov_imm(&tr.e, RCX, -want);
	/* lea (%rax,%rcx), %rcx; jrcxz over the jump */
	emit8(&tr.e, 0x48), emit8(&tr.e, 0x8d), emit8(&tr.e, 0x0c), emit8(&tr.e, 0x08);
	emit8(&tr.e, 0xe3), emit8(&tr.e, 5);
	emit8(&tr.e, 0xe9);
	emit32(&tr.e, 0);
	return tr.e.p - 4;
}

/* In front of a checked block: leaves by EXIT_STALE unless the guest's bytes are what was translated. */
static void emit_check(void)
{
	u8 code[BLOCK_INSNS * ISA_MAX_LEN], *stale[BLOCK_INSNS * 2 + 8], *over;
	u64 pc = tr.insn[0].pc;
	u32 len = 0, n = 0;

	for (u32 k = 0; k < tr.n; k++) {
		memcpy(code + len, tr.insn[k].bytes, tr.insn[k].in.len);
		len += tr.insn[k].in.len;
	}
	rec_add(pc)->spills = RAX | RCX << 4;
	emit_store_cpu(&tr.e, RAX, offsetof(struct cpu, spill[0]));
	emit_store_cpu(&tr.e, RCX, offsetof(struct cpu, spill[1]));
	for (u32 at = 0; at < len;) {
		u32 size = len - at >= 8 ? 8 : len - at >= 4 ? 4 : 1;

		stale[n++] = emit_compare(pc + at, code + at, size);
		at += size;
	}
	emit8(&tr.e, 0xeb);
	over = tr.e.p++;
	for (u32 i = 0; i < n; i++)
		emit_patch_rel32(stale[i], tr.e.p);
	emit_load_cpu(&tr.e, RAX, offsetof(struct cpu, spill[0]));
	emit_load_cpu(&tr.e, RCX, offsetof(struct cpu, spill[1]));
	emit_stop(EXIT_STALE, pc, 0);
	*over = (u8)(tr.e.p - (over + 1));
	emit_load_cpu(&tr.e, RAX, offsetof(struct cpu, spill[0]));
	emit_load_cpu(&tr.e, RCX, offsetof(struct cpu, spill[1]));
}

/* ---- watched data ---- */

/* In front of an instruction that accesses memory. */
static void emit_watch(const struct guest_insn *gi)
{
	struct watch_check c;
	struct emit hot;
	u32 rec;

	if (!(tr.want & CPU_WANT_WATCH) || !watch_wanted(&gi->in))
		return;
	rec = cache.nrec;
	rec_add(gi->pc)->spills = RAX | RCX << 4;
	c = watch_emit(&tr.e, &gi->in, gi->pc);
	for (u32 i = 0; i < c.n; i++) {
		hot = cold_begin(c.patch[i]);
		if (c.flags_saved)
			watch_emit_filter(&tr.e, c.patch[i] + 4);
		watch_emit_undo(&tr.e, &c);
		emit_stop(EXIT_WATCHED, gi->pc, rec);
		cold_end(hot);
	}
}

/* ---- blocks and traces ---- */

static u64 emit_break(void)
{
	rec_add(tr.insn[0].pc);
	emit_stop(EXIT_BREAK, tr.insn[0].pc, 0);
	tr.insns++;
	tr.blocks++;
	return 0;
}

/* Emits the block in tr.insn; returns where the trace may go on, or 0 if the block ends it. */
static u64 emit_block(void)
{
	u32 place = tr.n + 1;
	bool safe = true;
	u64 next = 0;

	if (!tr.blocks || !(tr.want & CPU_WANT_FINE))
		entry_add(tr.insn[0].pc);
	counting_begin(&tr.count, tr.want);
	if (tr.breaks)
		return emit_break();
	if (tr.checked)
		emit_check();
	for (u32 k = 0; k < tr.n; k++)
		if (!stands_alone(&tr.insn[k].in))
			counting_total(&tr.count, &tr.insn[k].in);
	if (counting_any(&tr.count))
		place = find_place(&safe);
	for (u32 k = 0; k < tr.n; k++) {
		struct guest_insn *gi = &tr.insn[k];

		if (k == place)
			emit_counting(gi->pc, safe);
		emit_watch(gi);
		next = emit_insn(gi);
		if (!stands_alone(&gi->in))
			counting_passed(&tr.count, &gi->in);
		emit_not_taken(gi);
	}
	if (place == tr.n)
		emit_counting(next, safe);
	tr.insns += tr.n;
	tr.blocks++;
	return next;
}

/* A conditional branch's own not-taken side, a jump and a call may go on in the same trace. */
static bool trace_goes_on(u64 next)
{
	u32 limit = dbt_options.no_traces || dbt_options.one_insn || tr.checked ? 1 : TRACE_BLOCKS;
	s64 distance = (s64)(next - tr.base);

	if (tr.want & CPU_WANT_ONE)
		return false;
	if (tr.want & CPU_WANT_FINE)
		return tr.blocks < BLOCK_INSNS && !tr.checked && !ends_block(&tr.insn[0].in) && fits_s32(distance * 2);
	return tr.blocks < limit && tr.insns < TRACE_INSNS && fits_s32(distance * 2) && !find_entry(next);
}

/* The variant that the exits of one lead to; NO_VARIANT: to the dispatcher, always. */
static u32 out_of(u32 want, u32 variant)
{
	if (want & CPU_WANT_ONE)
		return NO_VARIANT;
	return want & CPU_WANT_FINE ? cache_variant_get(want & ~CPU_WANT_FINE) : variant;
}

static u32 fine_of(u32 want)
{
	if (!(want & (CPU_WANT_COUNTDOWN | CPU_WANT_COUNTDOWN_BRANCHES)) || (want & CPU_WANT_FINE))
		return NO_VARIANT;
	return cache_variant_get(want | CPU_WANT_FINE);
}

u32 translate(u32 variant, u64 pc, bool indirect, struct dbt_fault *fault)
{
	struct frag *f;
	struct dbt_fault ignored;
	struct landing landing = {0};
	u64 next;

	guest_code_begin(&tr.code);
	tr.variant = variant;
	tr.want = cache.variant[variant].want;
	tr.out = out_of(tr.want, variant);
	tr.fine = fine_of(tr.want);
	tr.insns = tr.blocks = 0;
	tr.checked = false;
	if (!decode_block(pc, fault))
		return 0;
	tr.base = pc;
	tr.frag = cache.nfrag;
	tr.first_entry = cache.nentry;
	tr.e.p = cache.hot;
	emit_nops(&tr.e, -(uintptr_t)tr.e.p & 31);
	if (indirect)
		landing = ibl_emit_landing(&tr.e, pc);
	f = &cache.frag[tr.frag];
	*f = (struct frag){.pc = pc, .host = (u32)host_here(), .rec = cache.nrec, .entry = cache.nentry, .variant = (u8)variant};

	for (;;) {
		next = emit_block();
		if (!next)
			break;
		counting_begin(&tr.count, 0); /* between blocks nothing is due */
		if (trace_goes_on(next) && decode_block(next, &ignored))
			continue;
		if (tr.want & CPU_WANT_ONE) {
			rec_add(next);
			emit_stop(EXIT_BRANCH, next, 0);
		} else {
			emit_exit_jmp(next);
		}
		break;
	}
	cache.entry[tr.first_entry].landing = landing.at;
	cache.entry[tr.first_entry].landing_miss = landing.miss;
	check(host_here() - f->host < FRAG_MAX_BYTES);
	f->host_end = (u32)host_here();
	f->nentry = cache.nentry - f->entry;
	cache.hot = tr.e.p;
	stat_add(blocks, tr.blocks);
	stat_add(block_insns, tr.insns);
	stat_add(block_bytes, f->host_end - f->host);
	__atomic_store_n(&cache.nfrag, tr.frag + 1, __ATOMIC_RELEASE);
	guest_code_commit(&tr.code, tr.frag);
	for (u32 i = tr.first_entry; i < cache.nentry; i++)
		cache_publish(&cache.variant[variant], i);
	return tr.first_entry;
}
