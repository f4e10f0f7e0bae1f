/* How translated code comes back to dbt_run(); shared with dbt/x86_64/enter.S, so only numbers here. */
#ifndef DBT_STOP_H
#define DBT_STOP_H

/* Indexes of cpu->rt_fn: where code in the cache jumps to. */
#define RT_LEAVE_EXIT 0	    /* cpu->exit_id says which exit */
#define RT_LEAVE_INDIRECT 1 /* cpu->target is the guest address wanted */
#define RT_LEAVE_POLL 2	    /* cpu->exit_id: which exit, an EXIT_POLL; cpu->poll_back: where the code goes on */
/* an instruction in a critical section is not executed: its guard failed, or the kernel aborted it (dbt/rseq_cs.h) */
#define RT_RSEQ_CS_ABORT 3

/* What dbt_enter() returns. */
#define LEFT_EXIT 0
#define LEFT_INDIRECT 1
#define LEFT_INTERRUPT 2
#define LEFT_POLL 3

#endif
