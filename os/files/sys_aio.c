/*
 * io_submit(2) with events or pcl's own among the descriptors. For events the host would wait for a socket, to which
 * nobody sends. Linux has only IOCB_CMD_POLL for them, which is refused as by a kernel before 4.18.
 *
 * io_uring(7) is refused (os/sys_refused.c): what the kernel is asked to do would be in memory that it shares with the
 * guest.
 */
#include <asm-generic/errno.h>
#include <linux/aio_abi.h>
#include "os/files/vfile.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/refuse.h"

/*
 * How many of n requests come before the first that is for an event or for a descriptor of pcl's, and why that is
 * refused. Those that cannot be read are the kernel's to refuse.
 */
static u64 count_others(struct thread *t, gva requests, u64 n, long *error)
{
	struct iocb request;
	u64 i, at;

	for (i = 0; i < n; i++) {
		if (guest_read(&at, requests + i * sizeof(at), sizeof(at)) || guest_read(&request, at, sizeof(request)))
			return n;
		if (vfile_fd_hidden((s32)request.aio_fildes)) {
			*error = -EBADF;
			break;
		}
		if (perf_is_event(t, request.aio_fildes)) {
			*error = refuse(EINVAL, "asynchronous I/O on an event");
			break;
		}
	}
	return i;
}

long sys_io_submit(struct thread *t, const u64 *a)
{
	u64 n = a[1];
	long error = 0;

	if ((s64)n > 0)
		n = count_others(t, a[2], n, &error);
	if (likely(n == a[1]))
		return syscall_pass(t, a);
	if (!n)
		return error;
	return thread_syscall(t, (long)t->nr, a[0], n, a[2], 0, 0, 0);
}
