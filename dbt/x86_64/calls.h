/* The code that keeps the call stack, see dbt/calls.h. */
#ifndef DBT_X86_64_CALLS_H
#define DBT_X86_64_CALLS_H

#include "dbt/x86_64/emit.h"

/*
 * After a call has pushed its return address: notes it and where it lies. to 0: an indirect call, to cpu->target. Uses
 * rcx and rdx, which are spilled; touches no flags.
 */
void calls_emit_push(struct emit *e, u64 ret, u8 len, u64 to);

/* After a ret has popped. Uses rdx. */
void calls_emit_pop(struct emit *e);

#endif
