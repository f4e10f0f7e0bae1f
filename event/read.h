/* read(2) of an event. */
#ifndef EVENT_READ_H
#define EVENT_READ_H

#include "event/space.h"

/*
 * What read(2) of `size` bytes gives, in buf. The number of bytes; 0 in state ERROR; -ENOSPC: size is too small;
 * -EBADF: the descriptor is no event (any more). Takes event_lock().
 */
long event_read(task_id task, u64 fd, u64 *buf, u64 size);

#endif
