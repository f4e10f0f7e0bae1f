/* ioctl(2) on events, and the prctl(2) that switches all of a task's own. */
#ifndef EVENT_CONTROL_H
#define EVENT_CONTROL_H

#include "event/space.h"

/* 0 or -errno. Takes event_lock(); touches guest memory without it. */
int event_ioctl(task_id task, u64 fd, u32 cmd, u64 arg);

/*
 * PR_TASK_PERF_EVENTS_ENABLE and _DISABLE: every event of today's interface that the task opened and that is still
 * open, on whatever task it counts. Linux quirk: members of groups too, where the man page speaks of leaders only (seen
 * on 6.18).
 */
void event_switch_owned(task_id task, bool enable);
/* Of the interface of 2009: the leaders of groups that count this task, whoever opened them; see doc/abi-2009.md. */
void event_switch_attached_2009(task_id task, bool enable);
/* The descriptor is an event that was opened through that. */
bool event_is_of_2009(task_id task, u64 fd);
/* A region begins or ends in the task (include/pcl/session.h): all events of others are enabled or disabled. */
void event_switch_region(task_id task, bool begins);

#endif
