/*
 * The guest's trap flag: a SIGTRAP after each instruction.
 *
 * It is a bit of cpu->rflags and never the processor's: while it is set, the loop executes one instruction at a time.
 * What sets it is a popf or an iret, which the translator leaves to os/ (os/x86_64/far_return.h), or a signal handler's
 * return. As on Linux a system call does not trap, what comes after it does.
 */
#ifndef OS_TRAP_FLAG_H
#define OS_TRAP_FLAG_H

#include "dbt/dbt.h"
#include "os/session/thread.h"

static inline bool trap_flag_is_set(const struct thread *t)
{
	return unlikely(t->cpu->rflags & FLAGS_STEP);
}

/* In place of dbt_run(). */
enum dbt_stop trap_flag_step(struct thread *t, struct dbt_fault *fault);
/* An instruction is done that began with the flag. */
void trap_flag_raise(struct thread *t);

#endif
