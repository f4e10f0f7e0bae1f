/* The beginning of a session's event space; apart from the rest so that a launcher needs nothing else of this room. */
#include "event/space.h"

#define MUX_INTERVAL_MS 4 /* a tick at 250 Hz */

int event_space_init(void *mem)
{
	struct event_space *s = mem;

	slock_init(&s->lock, RANK_EVENT);
	s->slots_high = 1;
	s->ctx_high = 2;
	s->files_high = 2;
	s->fds_high = 1;
	s->next_id = 1;
	s->rings_high = s->maps_high = 1;
	s->watches_high = s->lineages_high = 1;
	s->next_mm = s->next_ring_id = 1;
	s->limits = (struct event_limits){EVENT_SLOTS, EVENT_RINGS, EVENT_WATCHES};
	s->sysctl = (struct event_sysctl){
		.paranoid = 2,
		.max_sample_rate = 100000,
		.mlock_kb = 516,
		.max_stack = 127,
		.max_contexts_per_stack = 8,
		.cpu_time_max_percent = 25,
		.rdpmc = 1, /* for tasks that have mapped an event */
		.mux_interval_ms = MUX_INTERVAL_MS,
		.mux_software_ms = MUX_INTERVAL_MS,
		.mux_breakpoint_ms = MUX_INTERVAL_MS,
		.mux_tracepoint_ms = MUX_INTERVAL_MS,
		.mux_uprobe_ms = MUX_INTERVAL_MS,
	};
	s->ctx[1].live = 1;
	s->ctx[1].files = 1;
	s->ctx[1].cpu = -1;
	s->ctx[1].mm = s->next_mm++;
	s->mm[s->ctx[1].mm].tasks = 1;
	s->files[1].users = 1;
	return 0;
}
