/* See loop.h. No lock is held and no signal is undelivered when translated code is entered. */
#include <asm/signal.h>
#include <asm/siginfo.h>
#include "dbt/dbt.h"
#include "event/task.h"
#include "os/loop.h"
#include "os/process.h"
#include "os/signal.h"
#include "os/syscall.h"

#define TRAP_INVALID_OPCODE 6
#define TRAP_PROTECTION	    13
#define TRAP_PAGE_FAULT	    14
#define PF_USER_FETCH	    0x14 /* error code: user mode, instruction fetch */

/* As the processor and the kernel would report that the instruction at cpu->rip cannot be executed. */
static void raise_fetch_fault(struct thread *t, const struct dbt_fault *f)
{
	u64 high = f->addr >> 47;

	if (high != 0 && high != 0x1ffff) /* not canonical: a general protection fault */
		signal_fault(t, SIGSEGV, SIG_CODE_KERNEL, 0, TRAP_PROTECTION, 0);
	else if (f->signo == SIGILL)
		signal_fault(t, SIGILL, f->code, f->addr, TRAP_INVALID_OPCODE, 0);
	else
		signal_fault(t, f->signo, f->code, f->addr, TRAP_PAGE_FAULT, PF_USER_FETCH | (f->code == SEGV_ACCERR));
}

/* Barrier A of host_kick(): in_cache is written before dbt_run() reads want, and read after want is written. */
static enum dbt_stop run(struct thread *t, struct dbt_fault *fault)
{
	enum dbt_stop stop;

	__atomic_store_n(&t->task->in_cache, 1, __ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&t->group->quiesce, __ATOMIC_SEQ_CST))) {
		__atomic_store_n(&t->task->in_cache, 0, __ATOMIC_SEQ_CST);
		group_wait(t);
		return DBT_INTERRUPT;
	}
	stop = dbt_run(t->cpu, fault);
	__atomic_store_n(&t->task->in_cache, 0, __ATOMIC_RELEASE);
	return stop;
}

void loop_run(struct thread *t)
{
	struct dbt_fault fault;

	for (;;) {
		__atomic_store_n(&t->cpu->pending, 0, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (unlikely(t->attention))
			signal_deliver(t);
		if (unlikely(__atomic_load_n(&t->cpu->want, __ATOMIC_RELAXED)))
			signal_catch_fatal(t);
		switch (run(t, &fault)) {
		case DBT_SYSCALL:
			event_task_moved(t->cpu->slot);
			syscall_dispatch(t);
			break;
		case DBT_FAULT:
			raise_fetch_fault(t, &fault);
			break;
		case DBT_SYSENTER:
			/* As a kernel without IA32 emulation: the vector of int 0x80 is not the user's. */
			signal_fault(t, SIGSEGV, SIG_CODE_KERNEL, 0, TRAP_PROTECTION, 0x80 * 8 + 2);
			break;
		case DBT_RDPMC:
			/* CR4.PCE is clear: no event of this memory is mapped for user access. */
			signal_fault(t, SIGSEGV, SIG_CODE_KERNEL, 0, TRAP_PROTECTION, 0);
			break;
		case DBT_INTERRUPT:
			event_task_moved(t->cpu->slot);
			break;
		}
	}
}
