/*
 * From a host context in the code cache to the guest's state: for faults and asynchronous signals.
 *
 * Guest registers are in their host registers everywhere in a fragment, except the stolen one (in struct cpu) and the
 * registers that the record names as spilled while one instruction runs.
 */
#include "cpu/bank.h"
#include "dbt/cache.h"
#include "dbt/counting.h"
#include "dbt/dbt.h"
#include "dbt/enter.h"
#include "dbt/piece.h"
#include "rt/log.h"

static bool in_enter_window(u64 pc)
{
	return pc >= (uintptr_t)dbt_enter_check && pc < (uintptr_t)dbt_enter_end;
}

/* An exit's stub, at its first instruction or later: the branch is done, nothing of its target is. */
static const struct exit *exit_at_stub(u64 pc)
{
	u32 id = cache_stub_exit(pc);

	if (!id || id >= cache.nexit || cache.exit[id].stub != pc)
		return NULL;
	return &cache.exit[id];
}

static void take_registers(const struct cpu *cpu, const u64 *greg, u8 spills, struct cpu *out)
{
	for (unsigned r = 0; r < CPU_GPRS; r++)
		out->gpr[r] = greg[greg_of(r)];
	out->stolen = cpu->stolen;
	if ((spills & 15) != NO_SPILL)
		out->gpr[spills & 15] = cpu->spill[0];
	if (spills >> 4 != NO_SPILL)
		out->gpr[spills >> 4] = cpu->spill[1];
	out->rflags = greg[GREG_FLAGS];
}

/* What locate finds besides the registers. */
struct place {
	enum dbt_where where;
	u32 rec; /* 0: none, the counts are right */
	u32 variant;
};

static struct place locate(struct cpu *cpu, const u64 *greg, struct cpu *out)
{
	u64 pc = piece_origin(cpu, greg[GREG_PC]);
	const struct exit *x;
	const struct frag *f;
	u32 frag, rec;

	if (in_enter_window(pc)) {
		*out = *cpu;
		return (struct place){.where = DBT_AT_BOUNDARY};
	}
	if (!cache_contains(pc))
		return (struct place){.where = DBT_AT_RUNTIME};
	frag = cache_frag_at(pc);
	if (!frag) {
		x = exit_at_stub(pc);
		if (!x)
			return (struct place){.where = DBT_AT_BRANCH};
		take_registers(cpu, greg, SPILLS_NONE, out);
		out->rip = x->target;
		return (struct place){.where = DBT_AT_BOUNDARY};
	}
	f = &cache.frag[frag];
	rec = cache_rec_at(f, pc);
	check_slow(rec - f->rec < f->nrec);
	out->rip = f->pc + (u64)(s64)cache.rec[rec].guest;
	if (f->host + cache.rec[rec].host == pc) {
		take_registers(cpu, greg, SPILLS_NONE, out);
		return (struct place){DBT_AT_BOUNDARY, rec, f->variant};
	}
	take_registers(cpu, greg, cache.rec[rec].spills, out);
	return (struct place){DBT_AT_INSIDE, rec, f->variant};
}

enum dbt_where dbt_locate(struct cpu *cpu, const u64 *greg, struct cpu *out)
{
	return locate(cpu, greg, out).where;
}

void dbt_leave(struct cpu *cpu, u64 *greg)
{
	u64 pc = greg[GREG_PC];
	struct cpu now;
	struct place p = locate(cpu, greg, &now);

	if (p.where == DBT_AT_RUNTIME || p.where == DBT_AT_BRANCH)
		return;
	if (!in_enter_window(pc)) {
		memcpy(cpu->gpr, now.gpr, sizeof(cpu->gpr));
		cpu->rip = now.rip;
		cpu->rflags = now.rflags;
		if (p.rec)
			counting_correct(cpu, p.variant, p.rec);
		cpu->left_code = 1;
	}
	greg[greg_of(STOLEN)] = (u64)(uintptr_t)cpu + CPU_BASE;
	greg[GREG_PC] = (u64)(uintptr_t)dbt_enter_abort;
}

u64 dbt_guest_pc(const struct cpu *cpu, u64 host)
{
	u64 pc = piece_origin(cpu, host);
	u32 frag = cache_contains(pc) ? cache_frag_at(pc) : 0;

	return frag ? cache.frag[frag].pc + (u64)(s64)cache.rec[cache_rec_at(&cache.frag[frag], pc)].guest : host;
}
