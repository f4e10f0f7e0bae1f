/* Where fields of struct cpu are, from where the stolen register points to, for assembly; asserted in dbt/run.c. */
#ifndef DBT_CPU_OFFSETS_H
#define DBT_CPU_OFFSETS_H

#define CPU_AT_ITSELF 7256
#define CPU_AT_GPR -2136
#define CPU_AT_RIP -2008
#define CPU_AT_RFLAGS -2000
#define CPU_AT_EXIT_ID -1992
#define CPU_AT_TARGET -1976
#define CPU_AT_RT_RSP -1968
#define CPU_AT_PENDING -1928
#define CPU_AT_ABORTED -72

#endif
