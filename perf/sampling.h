/*
 * The thread's side of sampling: what the kernel's overflow interrupt does, here in ordinary C between two guest
 * instructions.
 *
 * Translated code stops (DBT_LIMIT) in front of the instruction that reaches a limit, or may: a branch that is expected
 * to be taken. It is executed alone, and if cpu_limit_reached() is true then it caused the overflow: a sample has its
 * address and the registers from before it. Clock limits come by perf/timer.c and are seen between two instructions;
 * what the host only counts (page faults, switches) is looked at where the thread enters the runtime anyway.
 *
 * All functions are called by the thread itself, outside translated code and without locks.
 */
#ifndef PERF_SAMPLING_H
#define PERF_SAMPLING_H

#include "event/overflow.h"
#include "os/session/thread.h"

/* What an overflow wants of the thread: SIGTRAP; in_call: when the system call under way is done. */
void sampling_result(struct thread *t, const struct overflow_result *result, bool in_call);

#endif
