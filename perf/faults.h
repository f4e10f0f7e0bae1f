/*
 * Page faults of a thread that has events which sample them, or the tracepoint's: each is recorded when it happens,
 * with its address.
 *
 * Translated code stops (DBT_WATCHED) in front of an instruction that accesses a page, or lies in one, of which the
 * thread does not know that it was touched so before: for reading, or for writing. Then the thread touches each such
 * page itself, in the order of the instruction's accesses, and asks the host before and after how many faults it has
 * had. So the guest has the fault in front of the instruction, with the registers of that moment, as natively; a signal
 * that it raises comes first. Where that could do what the instruction does not (masks, cmps and scas, mappings of
 * devices) the question is asked around the instruction.
 *
 * Other faults in user mode are pcl's own, or not known from those: nothing is recorded. Those of a system call are at
 * its end, for events that do not exclude the kernel.
 *
 * What was touched is forgotten where it may fault again: perf_pages_changed(). Pages that the kernel takes away by
 * itself are not noticed.
 *
 * All functions but perf_pages_changed() are called by the thread itself, outside translated code and without locks.
 */
#ifndef PERF_FAULTS_H
#define PERF_FAULTS_H

#include "dbt/dbt.h"
#include "event/sample.h"
#include "isa/address.h"
#include "os/session/thread.h"

/* One instruction, from faults_begin() to faults_end(). */
struct fault_step {
	bool on;	   /* faults are looked for while it is executed */
	bool whole;	   /* it accesses all of what it may, as far as it gets */
	u32 changes;	   /* see perf_pages_changed() */
	struct fault_count count;
	struct snapshot_regs before;
	struct insn in;
	struct isa_access access[ISA_ACCESSES];
	int accesses;	   /* -1: not known */
	bool present;	   /* the page of the next fault was there, if that is a reason for a fault */
};

bool faults_begin_slowly(struct thread *t, struct fault_step *s);
void faults_end_slowly(struct thread *t, struct fault_step *s);

/* Around a system call: faults in it are the kernel's. */
void faults_call_begins_slowly(struct thread *t);
void faults_call_ends_slowly(struct thread *t);
static inline void faults_call_begins(struct thread *t)
{
	if (cpu_bank(t->cpu)->want & CPU_WANT_TOUCH)
		faults_call_begins_slowly(t);
}
static inline void faults_call_ends(struct thread *t)
{
	if (t->faults.counting)
		faults_call_ends_slowly(t);
}

/* In front of the instruction. False: it must not be executed yet, a signal comes first. */
static inline bool faults_begin(struct thread *t, struct fault_step *s)
{
	s->on = false;
	return likely(!(cpu_bank(t->cpu)->want & CPU_WANT_TOUCH)) || faults_begin_slowly(t, s);
}

/* After dbt_step(). */
static inline void faults_end(struct thread *t, struct fault_step *s)
{
	if (unlikely(s->on))
		faults_end_slowly(t, s);
}

/* The thread knows nothing of pages and counts from here on: it ends, or is the child of a fork. */
void faults_forget(struct thread *t);

#endif
