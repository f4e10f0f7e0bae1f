/*
 * The exact call stack: cpu->calls, which calls push to and returns pop from (CPU_WANT_CALLS), and its reader.
 *
 * Returns pop blindly, so that longjmp, exceptions and switched stacks leave entries behind; the reader tells them by
 * where their return addresses lie. It is sure of an entry if that place is not below the guest's stack pointer, is
 * above that of the entry inside of it, and still holds the return address. Frames from before the instrumentation
 * began are not there: the caller of calls_read() goes on by frame pointers from the outermost entry, if it likes.
 *
 * Threads of control that share the ring (coroutines) are told apart by the mappings that their stacks are in. What one
 * has called may be lost while others return further than they have called since, so a chain may end too early then;
 * with stacks in one mapping it may go on in another's.
 *
 * A signal's delivery is an entry as well, since the handler's return pops one: ret is what the handler returns to,
 * `to` is where its frame keeps the interrupted stack pointer, and behind that the pc. So stacks are whole on an
 * alternate signal stack too.
 *
 * The ring is private memory of the process, made by os/ before the thread runs with CPU_WANT_CALLS, and zero at first.
 */
#ifndef DBT_CALLS_H
#define DBT_CALLS_H

#include "cpu/cpu.h"

#define CALLS_BYTES (CPU_CALLS * sizeof(struct cpu_call))

/* A signal handler is about to run: sp is where its return address lies, saved as `to` above. */
void calls_note_signal(struct cpu *cpu, u64 ret, u64 sp, u64 saved);

/*
 * The calls that the thread is inside of, innermost first, and for each signal among them a second entry whose ret is
 * the interrupted pc and whose `to` is 0. At most max; how many. sp is the stack pointer before the instruction that
 * was executed last: a call that it made is left out; `returned`: it is a return, which is taken back. Forgets entries
 * that were left behind above the innermost one. By the thread itself, outside translated code.
 */
u32 calls_read(struct cpu *cpu, u64 sp, bool returned, struct cpu_call *out, u32 max);

#endif
