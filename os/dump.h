/* What a failed check prints besides its own line: task, pc, last system calls, block, registers. */
#ifndef OS_DUMP_H
#define OS_DUMP_H

/* From now on. */
void dump_init(void);

#endif
