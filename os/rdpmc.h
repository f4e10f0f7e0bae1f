/* rdpmc, which translated code leaves to the runtime. */
#ifndef OS_RDPMC_H
#define OS_RDPMC_H

#include "os/thread.h"

/*
 * Executes and counts the rdpmc at cpu->rip: 0, or -EFAULT: the guest may not (sysctl rdpmc: 0 nobody, 1 who has mapped an event
 * that it can read, 2 everyone), or there is no such counter. Counters are those of event/userpage.h.
 */
int rdpmc_emulate(struct thread *t);

#endif
