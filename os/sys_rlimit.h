/* Limits on address space, as the guest sees them: os/sys_rlimit.c. */
#ifndef OS_SYS_RLIMIT_H
#define OS_SYS_RLIMIT_H

/* When a new image has mapped all that is pcl's and nothing of the guest yet: notes how much that is. */
void rlimit_note_own(void);

#endif
