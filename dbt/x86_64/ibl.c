/* See dbt/ibl.h. */
#include "dbt/ibl.h"
#include "dbt/translate.h"
#include "dbt/x86_64/emit.h"
#include "rt/log.h"

/* `loop` is one fast operation on AMD's processors and slow microcode on Intel's; jrcxz is the other way round. */
bool ibl_loop_is_fast(void)
{
	u32 a = 0, b, c, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
	return b == 0x68747541 /* "Auth"enticAMD */ || b == 0x6f677948 /* "Hygo"nGenuine */;
}

void ibl_emit_lookup(struct emit *e, const struct variant *v, s32 word)
{
	u32 table = (u32)(uintptr_t)v->ibl;

	if (dbt_options.no_ibl) {
		emit_jmp(e, cache.miss);
		return;
	}
	if (word) {
		/* -1 or 0 in %rdx; mov %cx, %dx */
		emit_load_top_byte_cpu(e, RDX, word);
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

/* add $value, %rcx without flags; rdx is free. */
static void emit_rcx_plus(struct emit *e, u64 value)
{
	if (fits_s32((s64)value)) {
		emit_lea_self(e, RCX, (s32)value);
		return;
	}
	u8 *at = cache_const64(value);

	/* mov at(%rip), %rdx; lea (%rcx,%rdx), %rcx */
	emit8(e, 0x48), emit8(e, 0x8b), emit8(e, 0x15), emit32(e, (u32)(at - (e->p + 4)));
	emit8(e, 0x48), emit8(e, 0x8d), emit8(e, 0x0c), emit8(e, 0x11);
}

/* rcx is target - pc: restore the target and go on with the next landing. Returns where its displacement is. */
static u32 emit_mismatch(struct emit *e, u64 pc)
{
	emit_rcx_plus(e, pc);
	emit_align_rel32(e, 1);
	return code_host(emit_jmp(e, cache.miss));
}

/* In front of each landing is the number of its entry. */
static void emit_number(struct emit *e, u32 entry)
{
	emit_nops(e, -(uintptr_t)(e->p + 4) & 7);
	emit32(e, entry);
}

/* The first entry of the index's chain of landings, or 0. */
static u32 first_of(const struct variant *v, u64 pc)
{
	u32 at = __atomic_load_n(&v->ibl[(u16)pc], __ATOMIC_ACQUIRE), entry;

	if (!at)
		return 0;
	memcpy(&entry, cache.miss + at - sizeof(entry), sizeof(entry));
	return entry;
}

u32 ibl_find(const struct variant *v, u64 pc)
{
	u32 entry = first_of(v, pc);

	return entry && cache.entry[entry].pc == pc ? entry : 0;
}

struct landing ibl_emit_landing(struct emit *e, u32 entry, u64 pc)
{
	struct landing l;
	u8 *mismatch = e->p;

	if (dbt_options.loop_is_fast) {
		l.miss = emit_mismatch(e, pc);
		emit_number(e, entry);
		l.at = code_host(e->p);
		emit_rcx_plus(e, 1 - pc);
		emit8(e, 0xe2);
		check_slow(e->p - mismatch < 127);
		emit8(e, (u8)(mismatch - (e->p + 1)));
	} else {
		emit_number(e, entry);
		l.at = code_host(e->p);
		emit_rcx_plus(e, -pc);
		emit8(e, 0xe3);
		u8 *ok = e->p++;
		l.miss = emit_mismatch(e, pc);
		*ok = (u8)(e->p - (ok + 1));
	}
	emit_load_cpu(e, RCX, CPU_AT(spill[0]));
	emit_load_cpu(e, RDX, CPU_AT(spill[1]));
	return l;
}

/* Points the table, or the landing before it in the chain, to `to` (0: the miss code). */
static void set_next(struct variant *v, u64 pc, u32 before, u32 to)
{
	const u8 *host = to ? (u8 *)(uintptr_t)cache.entry[to].landing : cache.miss;

	check_slow(host >= cache.miss && (!to || cache.entry[to].landing));
	if (before) {
		if (cache.entry[before].landing_next == to) /* an image's page stays as it is */
			return;
		cache.entry[before].landing_next = to;
		emit_patch(code_at(cache.entry[before].landing_miss), host);
	} else {
		__atomic_store_n(&v->ibl[(u16)pc], (u32)(host - cache.miss), __ATOMIC_RELEASE);
	}
}

static void make_landing(struct entry *en)
{
	struct emit e = {.p = cache.hot};
	struct landing l = ibl_emit_landing(&e, (u32)(en - cache.entry), en->pc);

	check_slow(!en->landing);
	emit_jmp(&e, (u8 *)(uintptr_t)en->host);
	cache.hot = e.p;
	en->landing = l.at;
	en->landing_miss = l.miss;
}

void ibl_install(struct variant *v, u32 entry)
{
	struct entry *en = &cache.entry[entry];
	u32 head = first_of(v, en->pc);

	for (u32 i = head; i; i = cache.entry[i].landing_next)
		if (i == entry)
			return;
	if (!en->landing)
		make_landing(en);
	set_next(v, en->pc, entry, head);
	set_next(v, en->pc, 0, entry);
}

void ibl_remove(struct variant *v, u32 entry)
{
	struct entry *en = &cache.entry[entry];
	u32 before = 0;

	if (!en->landing)
		return;
	for (u32 i = first_of(v, en->pc); i; before = i, i = cache.entry[i].landing_next)
		if (i == entry) {
			set_next(v, en->pc, before, en->landing_next);
			return;
		}
}
