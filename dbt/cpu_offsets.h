/* Where fields of struct cpu are, from where the stolen register points to, for assembly; asserted in dbt/run.c. */
#ifndef DBT_CPU_OFFSETS_H
#define DBT_CPU_OFFSETS_H

#define CPU_AT_ITSELF 7520
#define CPU_AT_GPR -2400
#define CPU_AT_RIP -2272
#define CPU_AT_RFLAGS -2264
#define CPU_AT_EXIT_ID -2256
#define CPU_AT_TARGET -2240
#define CPU_AT_RT_RSP -2232
#define CPU_AT_PENDING -2192
#define CPU_AT_ABORTED -176

#endif
