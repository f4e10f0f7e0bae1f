/*
 * System calls that are answered as by a kernel built without them.
 *
 * io_uring: the kernel would serve requests that pcl must serve itself (close and dup of its own descriptors, reads and
 * polls of events, openat of virtual files), at times that pcl does not see, from threads that it does not know; and it
 * would fail with EFAULT at pages of code that the translator write-protects, where nobody can do the request again.
 * Programs that can use io_uring also do without: many containers refuse it, too.
 */
#include <asm/errno.h>
#include "os/syscall.h"

#define NO_IO_URING "io_uring: its requests would pass by pcl"

long sys_io_uring_setup(struct thread *t, const u64 *a)
{
	return refuse(ENOSYS, NO_IO_URING);
}

/* A ring may have come from outside the session. */
long sys_io_uring_enter(struct thread *t, const u64 *a)
{
	return refuse(ENOSYS, NO_IO_URING);
}

long sys_io_uring_register(struct thread *t, const u64 *a)
{
	return refuse(ENOSYS, NO_IO_URING);
}
