/* Calls that an event's descriptor is unfit for: see sys_unfit.c. */
#ifndef PERF_UNFIT_H
#define PERF_UNFIT_H

#include "os/session/thread.h"

/*
 * The first argument is an event's descriptor: -errno of what is wrong before that, else -error; 0: it succeeds, and
 * does nothing.
 */
long unfit(struct thread *t, const u64 *a, int error);

#endif
