/* Where fields of struct cpu are, from where the stolen register points to, for assembly; asserted in dbt/run.c. */
#ifndef DBT_CPU_OFFSETS_H
#define DBT_CPU_OFFSETS_H

#define CPU_AT_ITSELF 7368
#define CPU_AT_GPR -2248
#define CPU_AT_RIP -2120
#define CPU_AT_RFLAGS -2112
#define CPU_AT_EXIT_ID -2104
#define CPU_AT_TARGET -2088
#define CPU_AT_RT_RSP -2080
#define CPU_AT_PENDING -2040
#define CPU_AT_ABORTED -160

#endif
