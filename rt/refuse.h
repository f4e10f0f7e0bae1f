/*
 * Refusals: `return refuse(EINVAL, "reserved bit in attr.flags");` gives -EINVAL and keeps the reason for --strace.
 *
 * The reason is a constant string, kept per thread by whoever runs the system call: os/ points refuse_slot at the
 * current thread before a handler runs; unit tests use the default slot.
 */
#ifndef RT_REFUSE_H
#define RT_REFUSE_H

#include <asm-generic/errno-base.h>
#include "abi/types.h"

struct refusal {
	const char *why;  /* constant text or NULL */
	const char *file; /* where it was said */
	int line;
	bool kernel_mode; /* it asked for kernel mode: with attr.exclude_kernel it may be granted */
};

/* The refusal of the system call that this host thread is serving. Implemented by os/ and by the unit tests' fakes. */
struct refusal *refuse_slot(void);

static inline int refuse_at(int err, const char *why, const char *file, int line)
{
	struct refusal *r = refuse_slot();

	if (r)
		*r = (struct refusal){.why = why, .file = file, .line = line};
	return -err;
}

#define refuse(err, why) refuse_at(err, why, __FILE__, __LINE__)

static inline int refuse_kernel_mode_at(const char *why, const char *file, int line)
{
	struct refusal *r = refuse_slot();
	int ret = refuse_at(EACCES, why, file, line);

	if (r)
		r->kernel_mode = true;
	return ret;
}

/* -EACCES: what is asked for is in kernel mode. */
#define refuse_kernel_mode(why) refuse_kernel_mode_at(why, __FILE__, __LINE__)

#endif
