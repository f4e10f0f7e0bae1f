/* Of perf/sideband_tasks.c, what perf/ itself uses. */
#ifndef PERF_SIDEBAND_H
#define PERF_SIDEBAND_H

#include "perf/perf.h"

/* size bytes were written: a name, if the file is /proc/PID/comm or /proc/PID/task/TID/comm. */
#define PERF_COMM_WRITE 64 /* bytes; longer texts are no names */
void perf_written_slowly(struct thread *t, s32 fd);
static inline void perf_written(struct thread *t, s32 fd, u64 size)
{
	if ((perf_sideband_wanted(t, SB_COMM) || perf_traces_wanted(t->cpu->slot)) && size <= PERF_COMM_WRITE)
		perf_written_slowly(t, fd);
}

#endif
