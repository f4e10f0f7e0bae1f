/* Offsets in struct cpu for assembly; asserted in dbt/run.c. */
#ifndef DBT_CPU_OFFSETS_H
#define DBT_CPU_OFFSETS_H

#define CPU_GPR 128
#define CPU_RIP 256
#define CPU_RFLAGS 264
#define CPU_EXIT_ID 272
#define CPU_TARGET 280
#define CPU_RT_RSP 288
#define CPU_PENDING 328

#endif
