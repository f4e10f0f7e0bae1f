/* See rdpmc.h. */
#include "os/rdpmc.h"

#include <asm-generic/errno-base.h>
#include "cpu/bank.h"
#include "event/map.h"
#include "event/userpage.h"
#include "os/sampling.h"
#include "os/shot.h"

#define RDPMC_LENGTH 2

static bool may_read(const struct thread *t)
{
	s32 rule = event_sysctl()->rdpmc;

	return rule == 2 || (rule == 1 && event_map_rdpmc(t->cpu->slot));
}

/* Past the instruction. It is one that was executed, like those that translated code counts. */
static void step_over(struct thread *t, const struct shot_regs *before)
{
	struct cpu *cpu = t->cpu;

	cpu->rip += RDPMC_LENGTH;
	if (!(cpu->variant & CPU_WANT_BLOCKS))
		return;
	cpu_count_besides(cpu, CELL_INSTRUCTIONS, 1);
	sampling_emulated(t, before);
}

int rdpmc_emulate(struct thread *t)
{
	struct rdpmc_counter c = rdpmc_decode((u32)cpu_get_gpr(t->cpu, RCX));
	struct shot_regs before;
	u64 value;

	if (!may_read(t) || c.cell >= CELL_NR || c.shift > 63)
		return -EFAULT;
	value = (cpu_read_cell(t->cpu, (enum cell)c.cell) + c.fraction) >> c.shift;
	shot_regs(t->cpu, &before);
	cpu_set_gpr(t->cpu, RAX, (u32)value);
	cpu_set_gpr(t->cpu, RDX, value >> 32);
	step_over(t, &before);
	return 0;
}
