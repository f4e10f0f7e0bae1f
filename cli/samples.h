/*
 * Events that take a sample each time they have counted so many, on a process and all that it starts, and what the
 * samples say: one ring buffer for all of them, so samples and side-band records come in the order in which things
 * happened. The ring buffer is that of a dummy event, as inherited events of all CPUs have none of their own.
 *
 * The count of an event is exact. What is in no sample is less than a period for each task.
 */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include <sys/types.h>
#include "cli/counting.h"
#include "cli/spaces.h"
#include "cli/spec.h"
#include "cli/stacks.h"

struct samples {
	u64 work, period; /* see samples_period(). Set these and `chains` before the run */
	bool chains;	  /* complete call chains, else the sampled instruction alone */

	struct spaces spaces;
	struct stacks stacks;
	u64 *taken; /* samples of each event */
	u64 lost;   /* records that found no room */

	/* private */
	int events, *fd, dummy;
	u64 *id, ring_size;
	void *ring;
};

/*
 * How many of its kind one sample of an event stands for: `period` if it is not 0, else `work` of what instructions are
 * made of, a millisecond, and 1 of what is rare.
 */
u64 samples_period(const struct samples *s, const struct spec *spec);

/* For counting_watched(), with struct samples as its argument. */
extern const struct watcher samples_watcher;

void samples_free(struct samples *s);

#endif
