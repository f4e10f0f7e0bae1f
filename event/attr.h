/*
 * struct perf_event_attr on its way in: the kernel's perf_copy_attr() and the checks of perf_event_open() that look at
 * nothing but the attr and the caller's privilege. No effects, except that a wrong size is answered with ours.
 */
#ifndef EVENT_ATTR_H
#define EVENT_ATTR_H

#include "abi/perf.h"

/* 0, -EFAULT, -E2BIG (attr.size in guest memory then holds the size of struct perf_attr), -EINVAL, -EACCES. */
int attr_copy(gva uattr, struct perf_attr *out);

/* The checks that attr_copy() makes of what it has copied. Fills in what attr leaves to the session. */
int attr_check(struct perf_attr *attr);

/* The checks that perf_event_open() makes next, in its order: 0, -EACCES, -EINVAL. */
int attr_check_access(const struct perf_attr *attr);

/* The caller may count the kernel / all tasks of a CPU at the present perf_event_paranoid. */
int attr_allow_kernel(void);
int attr_allow_cpu(void);

/* Bytes that read(2) gives for an event with that many siblings. */
u32 attr_read_size(u64 read_format, u32 nr_siblings);

/* Which clock its records have: 0: the usual one, else 1 + the clock's id. */
static inline u32 attr_clock(const struct perf_attr *attr)
{
	return attr->use_clockid ? (u32)attr->clockid + 1 : 0;
}

static inline bool attr_is_sampling(const struct perf_attr *attr)
{
	return attr->sample_period != 0;
}

#endif
