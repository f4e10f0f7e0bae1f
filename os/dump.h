/* What a failed check prints besides its own line: the task, where the guest is, the block it is in, its last system calls. */
#ifndef OS_DUMP_H
#define OS_DUMP_H

/* From now on. */
void dump_init(void);

#endif
