/* PERF_EVENT_IOC_MODIFY_ATTRIBUTES: another address, length, type or state for a breakpoint. */
#ifndef EVENT_MODIFY_H
#define EVENT_MODIFY_H

#include "event/space.h"

/* 0 or -errno. Takes event_lock(); touches guest memory without it. */
int event_modify(task_id task, u64 fd, gva uattr);

#endif
