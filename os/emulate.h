/* Instructions that translated code leaves to the runtime, and faults as the processor and the kernel report them. */
#ifndef OS_EMULATE_H
#define OS_EMULATE_H

#include "dbt/dbt.h"
#include "os/session/thread.h"

/*
 * Does the instruction at cpu->rip, for which translated code stopped (DBT_SYSENTER, DBT_RDPMC, DBT_CPUID, DBT_XGETBV,
 * DBT_RDTSC, DBT_EMULATE), or raises the signal that it causes.
 */
void emulate(struct thread *t, enum dbt_stop stop);

/* The instruction at cpu->rip cannot be executed (DBT_FAULT). */
void emulate_fetch_fault(struct thread *t, const struct dbt_fault *f);

#endif
