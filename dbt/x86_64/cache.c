/* What of the code cache is x86-64: stubs, the ways between the lookup and the dispatcher, serialization. */
#include "dbt/cache.h"
#include "dbt/ibl.h"
#include "dbt/run.h"
#include "dbt/stop.h"
#include "dbt/x86_64/emit.h"

_Static_assert(STOLEN == R11, "dbt/x86_64/enter.S");

/* As the landings expect it: rcx is the target; guest rcx and rdx are in spill[0] and [1]. */
void ibl_emit_miss(struct emit *e)
{
	emit_store_cpu(e, RCX, CPU_AT(target));
	emit_load_cpu(e, RCX, CPU_AT(spill[0]));
	emit_load_cpu(e, RDX, CPU_AT(spill[1]));
	emit_jmp_cpu(e, CPU_AT(rt_fn) + 8 * RT_LEAVE_INDIRECT);
}

void ibl_emit_resume(struct emit *e)
{
	emit_store_cpu(e, RCX, CPU_AT(spill[0]));
	emit_store_cpu(e, RDX, CPU_AT(spill[1]));
	emit_load_cpu(e, RCX, CPU_AT(rip));
	emit_jmp_cpu(e, CPU_AT(poll_back));
}

/* A cursor of its own, which bytes that are written cannot change: it stays in a register. */
void cache_emit_stub(struct emit *e, u32 id)
{
	struct emit at = {.p = e->p};

	emit_set_cpu(&at, CPU_AT(exit_id), id);
	emit_jmp_cpu(&at, CPU_AT(rt_fn) + 8 * RT_LEAVE_EXIT);
	e->p = at.p;
}

u32 cache_stub_exit(u64 stub)
{
	u32 id;

	/* movl $id, exit_id(%cpu) begins every stub: three bytes, disp32, imm32 */
	memcpy(&id, (u8 *)(uintptr_t)stub + 7, 4);
	return id;
}

void run_left_by_syscall(struct cpu *cpu)
{
	cpu_set_gpr(cpu, RCX, cpu->rip);
	cpu_set_gpr(cpu, R11, cpu->rflags);
}

/*
 * iretq to the next instruction: user mode may do so anywhere, and of the serializing instructions it is the fastest
 * that every processor has.
 */
void code_memory_serialize(void)
{
	u64 scratch;

	__asm__ volatile("mov %%ss, %k0\n\t"
			 "push %0\n\t"
			 "lea 8(%%rsp), %0\n\t"
			 "push %0\n\t"
			 "pushfq\n\t"
			 "mov %%cs, %k0\n\t"
			 "push %0\n\t"
			 "lea 1f(%%rip), %0\n\t"
			 "push %0\n\t"
			 "iretq\n"
			 "1:"
			 : "=&r"(scratch)
			 :
			 : "memory", "cc");
}
