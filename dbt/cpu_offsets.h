/* Where fields of struct cpu are, from where the stolen register points to, for assembly; asserted in dbt/run.c. */
#ifndef DBT_CPU_OFFSETS_H
#define DBT_CPU_OFFSETS_H

#define CPU_AT_ITSELF 8792
#define CPU_AT_GPR -3672
#define CPU_AT_RIP -3544
#define CPU_AT_RFLAGS -3536
#define CPU_AT_EXIT_ID -3528
#define CPU_AT_TARGET -3512
#define CPU_AT_RT_RSP -3504
#define CPU_AT_PENDING -3464
#define CPU_AT_ABORTED -88

#endif
