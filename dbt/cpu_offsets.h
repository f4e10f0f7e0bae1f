/* Where fields of struct cpu are, from where the stolen register points to, for assembly; asserted in dbt/run.c. */
#ifndef DBT_CPU_OFFSETS_H
#define DBT_CPU_OFFSETS_H

#define CPU_AT_ITSELF 7528
#define CPU_AT_GPR -2408
#define CPU_AT_RIP -2280
#define CPU_AT_RFLAGS -2272
#define CPU_AT_EXIT_ID -2264
#define CPU_AT_TARGET -2248
#define CPU_AT_RT_RSP -2240
#define CPU_AT_PENDING -2200
#define CPU_AT_ABORTED -184

#endif
