/*
 * The guest's restartable sequences, see rseq(2).
 *
 * The kernel knows the guest's own struct rseq, so it keeps the CPU number in it current. Inside a critical section its
 * rseq_cs points, in place of the guest's descriptor, to one of ours, which describes the host code of one instruction
 * at a time (dbt/rseq_cs.h). The guest's is put back when the section is left. A section is thus given up for exactly
 * what the kernel gives one up for, and besides for what pcl's own signals interrupt.
 *
 * With --pin=schedule no other thread of the process executes while the kernel preempts this one. So a section goes on
 * then, without the kernel's knowledge, and is given up only for a signal, or at the end of the thread's turn. Where
 * the kernel has cleared rseq_cs, that means nothing.
 */
#ifndef OS_RSEQ_H
#define OS_RSEQ_H

#include "abi/types.h"
#include "dbt/dbt.h"
#include "os/session/thread.h"

/*
 * The instruction at cpu->rip is in a section (dbt_in_rseq_cs()): executes it and those that follow in there. Returns
 * as perf_step().
 */
enum dbt_stop rseq_run(struct thread *t, struct dbt_fault *fault);

/*
 * Gives up the section that the thread is in, false: it is in none. A signal frame that is made then shows the abort
 * handler.
 */
bool rseq_give_up(struct thread *t);

/* In a host signal handler: the kernel gave up the instruction at cpu->rip, which was not executed. */
bool rseq_gave_up(const struct thread *t, u64 host_pc);

/*
 * And that was a fault: the guest is to execute the section again, one instruction at a time, so that it is known whose
 * the fault is.
 */
bool rseq_fault_again(struct thread *t);

long sys_rseq(struct thread *t, const u64 *a);

#endif
