/* Offsets in struct cpu for assembly; asserted in dbt/run.c. */
#ifndef DBT_CPU_OFFSETS_H
#define DBT_CPU_OFFSETS_H

#define CPU_GPR 640
#define CPU_RIP 768
#define CPU_RFLAGS 776
#define CPU_EXIT_ID 784
#define CPU_TARGET 792
#define CPU_RT_RSP 800
#define CPU_PENDING 840

#endif
