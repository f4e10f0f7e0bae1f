/* Offsets in struct cpu for assembly; asserted in dbt/run.c. */
#ifndef DBT_CPU_OFFSETS_H
#define DBT_CPU_OFFSETS_H

#define CPU_GPR 128
#define CPU_RIP 248
#define CPU_RFLAGS 256
#define CPU_EXIT_ID 264
#define CPU_TARGET 272
#define CPU_RT_RSP 280
#define CPU_PENDING 320

#endif
