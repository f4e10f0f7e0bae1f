/* What os/session/host.c knows of the host besides event/host.h. */
#ifndef OS_HOST_H
#define OS_HOST_H

#include "abi/types.h"

/* Page faults of the calling thread, minor and major, whoever's they are. False: the host does not tell. */
bool host_own_faults(u64 *faults);

#endif
