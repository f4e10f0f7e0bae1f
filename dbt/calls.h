/*
 * The exact call stack: cpu->calls, which calls push to and returns pop from (CPU_WANT_CALLS), and its reader.
 *
 * Returns pop blindly, so that longjmp, exceptions and switched stacks leave entries behind; the reader tells them by where their
 * return addresses lie. It is sure of an entry if that place is not below the guest's stack pointer, is above that of the entry inside of it, and
 * still holds the return address. Frames from before the instrumentation began are not there: the caller of calls_read()
 * goes on by frame pointers from the outermost entry, if it likes.
 *
 * The ring is private memory of the process, made by os/ before the thread runs with CPU_WANT_CALLS, and zero at first.
 */
#ifndef DBT_CALLS_H
#define DBT_CALLS_H

#include "dbt/emit.h"

#define CALLS_BYTES (CPU_CALLS * sizeof(struct cpu_call))

/* After a call has pushed its return address: notes it and where it lies. Uses rcx and rdx, which are spilled; touches no flags. */
void calls_emit_push(struct emit *e, u64 ret);

/* After a ret has popped. Uses rdx. */
void calls_emit_pop(struct emit *e);

/*
 * The calls that the thread is inside of, innermost first; sp is the guest's stack pointer. At most max; how many. Forgets entries that were left
 * behind above the innermost one. By the thread itself, outside translated code.
 */
u32 calls_read(struct cpu *cpu, u64 sp, struct cpu_call *out, u32 max);

#endif
