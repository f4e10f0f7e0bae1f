/* Regions of the program that is counted (pcl --regions), as the commands that open events see them. */
#ifndef CLI_REGIONS_H
#define CLI_REGIONS_H

#include <linux/perf_event.h>
#include <stdbool.h>

/* --regions was given. */
bool regions_are_wanted(void);

/* How many processes of the session have left it although they were counted (os/task/split.h). */
int regions_leavers(void);

/* The leader of a group is disabled until the program is executed, or, with --regions, until a region begins. */
void regions_wait(struct perf_event_attr *attr, bool leads);

#endif
