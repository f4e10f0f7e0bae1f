/* Offsets in struct cpu for assembly; asserted in dbt/run.c. */
#ifndef DBT_CPU_OFFSETS_H
#define DBT_CPU_OFFSETS_H

#define CPU_GPR 648
#define CPU_RIP 776
#define CPU_RFLAGS 784
#define CPU_EXIT_ID 792
#define CPU_TARGET 808
#define CPU_RT_RSP 816
#define CPU_PENDING 856
#define CPU_ABORTED 9632

#endif
