/* rdpmc, which translated code leaves to the runtime: see perf.h. */
#include "perf/perf.h"

#include <asm-generic/errno-base.h>
#include "cpu/bank.h"
#include "event/map.h"
#include "event/read.h"
#include "event/userpage.h"
#include "isa/insn.h"
#include "perf/sampling.h"
#include "perf/snapshot.h"
#include "rt/guest.h"
#include "rt/string.h"

#define RDPMC_LEN 2

static bool may_read(const struct thread *t)
{
	s32 rule = event_sysctl()->rdpmc;

	return rule == 2 || (rule == 1 && event_map_rdpmc(t->cpu->slot));
}

/* The instruction without prefixes, as it is described: NULL if it is another one. */
static const struct insn *plain_at(gva pc)
{
	static const u8 plain[RDPMC_LEN] = {0x0f, 0x33};
	static struct insn in;
	static u32 known;
	u8 code[RDPMC_LEN];

	if (guest_read(code, pc, RDPMC_LEN) || memcmp(code, plain, RDPMC_LEN))
		return NULL;
	if (unlikely(!__atomic_load_n(&known, __ATOMIC_ACQUIRE))) {
		struct insn made;

		isa_decode(plain, RDPMC_LEN, &made);
		in = made; /* threads that do this at once write the same */
		__atomic_store_n(&known, 1, __ATOMIC_RELEASE);
	}
	return &in;
}

int perf_rdpmc(struct thread *t)
{
	u32 ecx = (u32)cpu_get_gpr(t->cpu, RCX);
	struct rdpmc_counter c = rdpmc_decode(ecx);
	struct snapshot_regs before;
	const struct insn *plain;
	u64 value;

	if (!may_read(t) || (!(ecx & RDPMC_EVENT) && (c.cell >= CELL_NR || c.shift > 63)))
		return -EFAULT;
	if (ecx & RDPMC_EVENT)
		value = event_read_mapped(t->cpu->slot, ecx & ~RDPMC_EVENT);
	else
		value = (cpu_read_cell(cpu_bank(t->cpu), (enum cell)c.cell) + c.fraction) >> c.shift;
	perf_regs(t->cpu, &before);
	cpu_set_gpr(t->cpu, RAX, (u32)value);
	cpu_set_gpr(t->cpu, RDX, value >> 32);
	plain = plain_at(t->cpu->rip);
	if (plain)
		perf_emulated_insn(t, &before, plain);
	else
		perf_emulated(t, &before, RDPMC_LEN);
	return 0;
}
