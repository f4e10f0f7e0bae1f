/* The entry for where a thread is: found, or translated. */
#ifndef DBT_FIND_H
#define DBT_FIND_H

#include "dbt/dbt.h"

/* As run_find(), for pc. With dbt_lock, which it may release for a while, and within an epoch. */
u32 find_locked(struct cpu *cpu, u64 pc, u32 exit, bool indirect, struct dbt_fault *fault);

#endif
