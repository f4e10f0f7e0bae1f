/* See dbt/ibl.h. The lookup and the landings. */
#include "dbt/ibl.h"
#include "dbt/translate.h"
#include "dbt/x86_64/emit.h"
#include "rt/log.h"

/*
 * The top byte of the word, with its sign, comes into rdx. To load it just after the store is slow on a Zen 1. On Intel
 * bswap is two operations, and the load is faster.
 */
static void emit_top_byte(struct emit *e, s32 word, bool in_rdx)
{
	if (!in_rdx || !dbt_options.bswap_is_fast) {
		emit_load_top_byte_cpu(e, RDX, word);
		return;
	}
	/* bswap %rdx; movsbq %dl, %rdx */
	emit8(e, 0x48), emit8(e, 0x0f), emit8(e, 0xca);
	emit8(e, 0x48), emit8(e, 0x0f), emit8(e, 0xbe), emit8(e, 0xd2);
}

void ibl_emit_lookup(struct emit *e, const struct variant *v, s32 word, bool in_rdx)
{
	u32 table = (u32)(uintptr_t)v->ibl;

	if (dbt_options.no_ibl) {
		emit_jmp(e, cache.miss);
		return;
	}
	if (word) {
		/*
		 * Then mov %cx, %dx. The word may be in the arena: whatever the byte is, the index is one of the table
		 * or of the zeros behind it.
		 */
		emit_top_byte(e, word, in_rdx);
		emit8(e, 0x66), emit8(e, 0x89), emit8(e, 0xca);
		table += IBL_SIZE * sizeof(u32);
	} else {
		/* movzwl %cx, %edx */
		emit8(e, 0x0f), emit8(e, 0xb7), emit8(e, 0xd1);
	}
	/* mov table(,%rdx,4), %edx */
	emit8(e, 0x8b), emit8(e, 0x14), emit8(e, 0x95), emit32(e, table);
	/* lea miss(%rdx), %rdx */
	emit8(e, 0x48), emit8(e, 0x8d), emit8(e, 0x92), emit32(e, code_host(cache.miss));
	/* jmp *%rdx */
	emit8(e, 0xff), emit8(e, 0xe2);
}

/* Fragments. The lines of the table that so many use do not fit into L1; see doc/performance.md. */
#define MUCH_CODE 16384u

void ibl_emit_prefetch(struct emit *e, const struct variant *v, u64 ret)
{
	bool much = cache.nfrag - cache.first_frag >= MUCH_CODE;

	if (dbt_options.no_ibl || dbt_options.prefetch == PREFETCH_NEVER ||
	    (dbt_options.prefetch == PREFETCH_IN_MUCH_CODE && !much))
		return;
	/* prefetcht0 */
	emit8(e, 0x0f), emit8(e, 0x18), emit8(e, 0x0c), emit8(e, 0x25);
	emit32(e, (u32)(uintptr_t)&v->ibl[(u16)ret]);
}

/* add $value, %rcx without flags; rdx is free. */
static void emit_rcx_plus(struct emit *e, u64 value)
{
	if (fits_s32((s64)value)) {
		emit_lea_self(e, RCX, (s32)value);
		return;
	}
	emit_mov_imm(e, RDX, value);
	/* lea (%rcx,%rdx), %rcx */
	emit8(e, 0x48), emit8(e, 0x8d), emit8(e, 0x0c), emit8(e, 0x11);
}

/* rcx is target - value: restore the target and go on with the next landing. Returns where its displacement is. */
static u32 emit_mismatch(struct emit *e, u64 value)
{
	emit_rcx_plus(e, value);
	emit_align_rel32(e, 1);
	return code_host(emit_jmp(e, cache.miss));
}

/* In front of each landing is the number of its entry. */
static void emit_number(struct emit *e, u32 entry)
{
	emit_nops(e, -(uintptr_t)(e->p + 4) & 7);
	emit32(e, entry);
}

/* Where it matches `loop` is not taken. */
static void emit_landing_by_loop(struct emit *e, u32 entry, u64 pc, struct landing *l)
{
	u8 *mismatch = e->p;

	l->miss = emit_mismatch(e, pc);
	emit_number(e, entry);
	l->at = code_host(e->p);
	emit_rcx_plus(e, 1 - pc);
	emit8(e, 0xe2);
	check_slow(e->p - mismatch < 127);
	emit8(e, (u8)(mismatch - (e->p + 1)));
}

/* Where it matches jrcxz is taken. */
static void emit_landing_by_jrcxz(struct emit *e, u32 entry, u64 pc, struct landing *l)
{
	u8 *ok;

	emit_number(e, entry);
	l->at = code_host(e->p);
	emit_rcx_plus(e, -pc);
	emit8(e, 0xe3);
	ok = e->p++;
	l->miss = emit_mismatch(e, pc);
	*ok = (u8)(e->p - (ok + 1));
}

/*
 * rcx is target - pc - IBL_SIZE with the old CF in its lowest bit, and CF is
 * set. rdx + rdx + CF carries if rdx's top bit is set.
 */
static u32 emit_take_back_carry(struct emit *e, u64 pc)
{
	/* rorx $1, %rcx, %rdx; adcx %rdx, %rdx; mov $(u16)pc, %cx */
	emit8(e, 0xc4), emit8(e, 0xe3), emit8(e, 0xfb), emit8(e, 0xf0), emit8(e, 0xd1), emit8(e, 1);
	emit8(e, 0x66), emit8(e, 0x48), emit8(e, 0x0f), emit8(e, 0x38), emit8(e, 0xf6), emit8(e, 0xd2);
	emit8(e, 0x66), emit8(e, 0xb9), emit8(e, (u8)pc), emit8(e, (u8)(pc >> 8));
	return emit_mismatch(e, pc - (u16)pc + IBL_SIZE);
}

/*
 * One addition and a jump that is not taken, which processors fetch fastest, and which is no part of what they predict
 * by. Targets that come here differ from pc by a multiple of IBL_SIZE. So their difference plus -IBL_SIZE plus CF
 * carries unless the difference is 0, and the sum's lowest bit is the old CF: where it does not match nothing is lost.
 * adcx writes no other flag.
 */
static void emit_landing_by_adcx(struct emit *e, u32 entry, u64 pc, struct landing *l)
{
	u8 *mismatch = e->p;

	l->miss = emit_take_back_carry(e, pc);
	emit_number(e, entry);
	l->at = code_host(e->p);
	emit_rcx_plus(e, -pc);
	/* adcx no_match(%cpu), %rcx */
	emit8(e, 0x66), emit8(e, 0x49), emit8(e, 0x0f), emit8(e, 0x38), emit8(e, 0xf6);
	emit_cpu_mem(e, RCX, CPU_AT(no_match));
	/* jc */
	emit8(e, 0x72);
	check_slow(e->p - mismatch < 127);
	emit8(e, (u8)(mismatch - (e->p + 1)));
}

struct landing ibl_emit_landing(struct emit *e, u32 entry, u64 pc, bool carry_dead)
{
	struct landing l;

	if (dbt_options.landing == LANDING_LOOP)
		emit_landing_by_loop(e, entry, pc, &l);
	else if (carry_dead)
		emit_landing_by_adcx(e, entry, pc, &l);
	else
		emit_landing_by_jrcxz(e, entry, pc, &l);
	emit_load_cpu(e, RCX, CPU_AT(spill[0]));
	emit_load_cpu(e, RDX, CPU_AT(spill[1]));
	return l;
}
