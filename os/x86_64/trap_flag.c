/* See trap_flag.h. */
#include "os/trap_flag.h"

#include <asm/siginfo.h>
#include <asm/signal.h>
#include "os/guest_insn.h"
#include "os/sig/rseq.h"
#include "os/sig/signal.h"
#include "perf/perf.h"
#include "rt/guest.h"

#define TRAP_DEBUG 1

void trap_flag_raise(struct thread *t)
{
	signal_fault(t, SIGTRAP, TRAP_TRACE, t->cpu->rip, TRAP_DEBUG, 0);
	t->cpu->rflags &= ~(u64)FLAGS_RESUME; /* it is a trap, no fault */
}

/* What the instruction has pushed shows the flag. */
static void show_pushed(struct thread *t)
{
	gva at = cpu_get_gpr(t->cpu, RSP);
	u16 flags;

	if (!guest_read(&flags, at, sizeof(flags))) {
		flags |= FLAGS_STEP;
		guest_write(at, &flags, sizeof(flags));
	}
}

/* Done without a signal of its own. */
static bool is_done(const struct thread *t, enum dbt_stop stop, gva pc)
{
	return stop == DBT_STEPPED || (stop == DBT_INTERRUPT && t->cpu->rip != pc && !t->fault.signo);
}

enum dbt_stop trap_flag_step(struct thread *t, struct dbt_fault *fault)
{
	gva pc = t->cpu->rip;
	struct insn in;
	u32 kind = guest_insn_decode(pc, &in) ? in.kind : ISA_PLAIN;
	enum dbt_stop stop = dbt_in_rseq_cs(pc) ? rseq_run(t, fault) : perf_step(t, fault);
	bool done = is_done(t, stop, pc);

	if (done && kind == ISA_PUSHF)
		show_pushed(t);
	if (!done || kind != ISA_POPF) /* one that sets the flag again has not been executed */
		t->cpu->rflags |= FLAGS_STEP;
	if (stop == DBT_SYSCALL)
		cpu_set_gpr(t->cpu, R11, cpu_get_gpr(t->cpu, R11) | FLAGS_STEP);
	if (done)
		trap_flag_raise(t);
	return stop;
}
