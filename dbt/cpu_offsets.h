/* Where fields of struct cpu are, from where the stolen register points to, for assembly; asserted in dbt/run.c. */
#ifndef DBT_CPU_OFFSETS_H
#define DBT_CPU_OFFSETS_H

#define CPU_AT_ITSELF 8792
#define CPU_AT_GPR -8792
#define CPU_AT_RIP -8664
#define CPU_AT_RFLAGS -8656
#define CPU_AT_EXIT_ID -8648
#define CPU_AT_TARGET -8632
#define CPU_AT_RT_RSP -8624
#define CPU_AT_PENDING -8584
#define CPU_AT_ABORTED -4184

#endif
