/* dbt/x86_64/enter.S as C sees it. */
#ifndef DBT_ENTER_H
#define DBT_ENTER_H

#include "cpu/cpu.h"

int dbt_enter(struct cpu *cpu, u64 host); /* LEFT_* */

/* Labels, not functions. */
extern const char dbt_enter_check[], dbt_enter_end[], dbt_enter_abort[];
extern const char dbt_rseq_cs_abort[];
extern const u32 dbt_rseq_cs_signature; /* in front of it */
extern const char dbt_leave_exit[], dbt_leave_indirect[], dbt_leave_poll[];

#endif
