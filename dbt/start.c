/* The translator and a thread's part of it begin, and are forked. See dbt/dbt.h. */
#include "dbt/cache.h"
#include "dbt/cache_memory.h"
#include "dbt/cpu_offsets.h"
#include "dbt/dbt.h"
#include "dbt/enter.h"
#include "dbt/ibl.h"
#include "dbt/rseq_cs.h"
#include "dbt/siblings.h"
#include "dbt/stop.h"
#include "rt/string.h"

_Static_assert(CPU_BASE == CPU_AT_ITSELF, "cpu_offsets.h");
_Static_assert(CPU_AT(gpr) == CPU_AT_GPR, "cpu_offsets.h");
_Static_assert(CPU_AT(rip) == CPU_AT_RIP, "cpu_offsets.h");
_Static_assert(CPU_AT(rflags) == CPU_AT_RFLAGS, "cpu_offsets.h");
_Static_assert(CPU_AT(exit_id) == CPU_AT_EXIT_ID, "cpu_offsets.h");
_Static_assert(CPU_AT(target) == CPU_AT_TARGET, "cpu_offsets.h");
_Static_assert(CPU_AT(rt_rsp) == CPU_AT_RT_RSP, "cpu_offsets.h");
_Static_assert(CPU_AT(pending) == CPU_AT_PENDING, "cpu_offsets.h");
_Static_assert(CPU_AT(guard.aborted) == CPU_AT_ABORTED, "cpu_offsets.h");

int dbt_init(void)
{
	return cache_init();
}

void dbt_cpu_init(struct cpu *cpu)
{
	cpu->rt_fn[RT_LEAVE_EXIT] = (u64)(uintptr_t)dbt_leave_exit;
	cpu->rt_fn[RT_LEAVE_INDIRECT] = (u64)(uintptr_t)dbt_leave_indirect;
	cpu->rt_fn[RT_LEAVE_POLL] = (u64)(uintptr_t)dbt_leave_poll;
	cpu->rt_fn[RT_RSEQ_CS_ABORT] = (u64)(uintptr_t)dbt_rseq_cs_abort;
	cpu->rflags = FLAGS_FIXED;
	cpu->no_match = IBL_NO_MATCH;
	memset(cpu->found, 0, sizeof(cpu->found));
	cpu->here.frag = 0;
	dbt_guard(cpu, (gva)&cpu->guard.minus, ~0ul, NULL);
}

bool dbt_touch_ahead(void)
{
	bool ahead;

	lock_acquire(&dbt_lock);
	ahead = cache_touch_from_now_on();
	cache_unlock();
	return ahead;
}

void dbt_before_fork(void)
{
	lock_acquire(&dbt_lock);
	cache.touches_ahead = false; /* both will share these pages, and copy them when they write */
}

void dbt_after_fork(bool child)
{
	if (child) {
		cache_renew();
		siblings_forked();
	}
	cache_unlock();
}
