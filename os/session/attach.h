/* The event tables of the session, in the memory that the process has mapped. */
#ifndef OS_ATTACH_H
#define OS_ATTACH_H

#include "abi/types.h"

/* first: by the session's first member, which makes them. 0 or -errno. */
int attach_events(bool first);

#endif
