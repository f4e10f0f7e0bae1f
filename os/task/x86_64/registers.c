/* See os/task/registers.h. */
#include "os/task/registers.h"
#include "rt/layout.h"

/* struct user_regs_struct as an array. */
enum { USER_RIP = 16, USER_EFLAGS = 18 };

/* Where it has the general registers, in the order of RAX .. R15. */
static const u8 user_reg[CPU_GPRS] = {10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0};

void registers_show(u64 *regs, const struct cpu *cpu)
{
	bool in_cache = regs[USER_RIP] < LAYOUT_BASE; /* the guest's own pages are never executed */

	regs[USER_RIP] = cpu->rip;
	for (unsigned i = 0; i < ARRAY_SIZE(user_reg); i++)
		if (!in_cache || i == STOLEN)
			regs[user_reg[i]] = cpu_get_gpr(cpu, i);
	if (!in_cache)
		regs[USER_EFLAGS] = cpu->rflags;
}
