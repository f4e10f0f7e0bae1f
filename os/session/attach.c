/* See attach.h. */
#include "event/after.h"
#include "event/pmu.h"
#include "event/space.h"
#include "os/session/attach.h"
#include "os/session/fence.h"
#include "os/session/process.h"
#include "rt/log.h"

/* What pcl was told. */
static void configure(const struct session_config *c)
{
	event_sysctl()->paranoid = c->paranoid;
	if (c->max_sample_rate) {
		event_sysctl()->max_sample_rate = c->max_sample_rate;
		event_space->rate_set = 1;
	}
	event_space->call_stacks = c->call_stacks;
	event_space->abi_2009 = c->abi == SESSION_ABI_2009;
	event_space->processor = c->processor;
	event_space->accepts_no_model = c->accepts_no_model;
	event_space->counters = event_space->counters_scarce = c->counters;
}

int attach_events(bool first)
{
	struct arena *a = arena();
	int ret = 0;

	_Static_assert(ARENA_TASKS == EVENT_TASKS, "task slots are event contexts");
	_Static_assert(ARENA_CPUS == EVENT_CPUS_MAX, "both are numbers of CPUs");
	check((u64)arena_event_space() + event_space_size() <= LAYOUT_ARENA + LAYOUT_ARENA_SIZE);
	if (first)
		ret = event_space_init(arena_event_space());
	if (ret)
		return ret;
	event_space_attach(arena_event_space());
	section_host = (struct section_host){
		.journals = (char *)LAYOUT_JOURNALS,
		.long_lock = &event_space->lock,
		.longer = (struct section_long *)(LAYOUT_JOURNALS + ARENA_TASKS * LAYOUT_JOURNAL_SIZE),
		.noted = (char *)&a->lock,
		.noted_size = LAYOUT_RINGS + LAYOUT_RINGS_SIZE - (u64)&a->lock,
		.fence = signal_fence,
		.barrier = the_process.config.no_bias ? NULL : signal_barrier,
		.after = event_after,
	};
	if (first)
		configure(&the_process.config);
	pmu_init();
	return 0;
}
