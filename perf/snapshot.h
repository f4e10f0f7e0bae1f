/*
 * Looking at the guest for a sample: fills in the parts of a struct snapshot that the task's events want to know
 * (event_ctx.needs).
 *
 * Registers are those from before the instruction; its effects on memory are there already, as with the processors'
 * precise sampling. Large parts (chains, stacks, branches) lie in the thread's struct sampler, mapped when it is first
 * needed.
 */
#ifndef PERF_SNAPSHOT_H
#define PERF_SNAPSHOT_H

#include "event/sample.h"
#include "os/session/thread.h"

/* *regs must live as long as *out. What was found is valid until the thread's next snapshot. */
void snapshot_take(struct thread *t, const struct snapshot_regs *regs, struct snapshot *out);

/* Of another task, whose registers they are and whose memory is this one's. */
void snapshot_take_for(struct thread *t, u32 task, const struct snapshot_regs *regs, struct snapshot *out);

/* The data address is this one, whatever the instruction's accesses were; nothing is known of the access. */
void snapshot_set_address(const struct thread *t, u64 addr, struct snapshot *snap);

/* The task's events have changed: how much of chains and stacks they want. */
void snapshot_sizes(struct thread *t);

#endif
