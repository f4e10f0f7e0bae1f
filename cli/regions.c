/* See regions.h. The process is a guest: the options are those of its session. */
#include <sys/prctl.h>
#include "cli/regions.h"
#include "os/session/regions.h"

bool regions_are_wanted(void)
{
	int state = prctl(REGIONS_PRCTL, REGIONS_STATE);

	return state > 0 && state & REGIONS_WANTED;
}

int regions_leavers(void)
{
	return prctl(REGIONS_PRCTL, REGIONS_LEAVERS);
}

void regions_wait(struct perf_event_attr *attr, bool leads)
{
	attr->disabled = leads;
	attr->enable_on_exec = leads && !regions_are_wanted();
}
