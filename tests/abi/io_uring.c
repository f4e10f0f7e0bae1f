/*
 * io_uring: pcl answers as a kernel without it, so nothing of a ring can touch its descriptors. Natively, and if the
 * answer is a ring, a request that closes a descriptor does that; under pcl the plain system calls do the work.
 */
#include <linux/io_uring.h>
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

static long result(long ret)
{
	return ret == -1 ? -errno : ret;
}

/* One request on a new ring: its result. */
static int submit(int ring, const struct io_uring_params *p, const struct io_uring_sqe *sqe)
{
	char *sq = mmap(NULL, p->sq_off.array + p->sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
			IORING_OFF_SQ_RING);
	char *cq = mmap(NULL, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
			MAP_SHARED, ring, IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqes =
		mmap(NULL, p->sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);

	sqes[0] = *sqe;
	*(unsigned *)(sq + p->sq_off.array) = 0;
	__atomic_store_n((unsigned *)(sq + p->sq_off.tail), 1, __ATOMIC_RELEASE);
	expect(result(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0)), 1);
	return ((struct io_uring_cqe *)(cq + p->cq_off.cqes))->res;
}

int main(void)
{
	struct io_uring_params p = {0};
	int fd = open("/dev/null", O_RDONLY);
	struct io_uring_sqe close_it = {.opcode = IORING_OP_CLOSE, .fd = fd};
	long ring = result(syscall(SYS_io_uring_setup, 4, &p));

	if (ring >= 0) {
		expect(submit((int)ring, &p, &close_it), 0);
		expect(result(fcntl(fd, F_GETFD)), -EBADF);
		return perf_result();
	}
	if (ring != -ENOSYS) /* EPERM: a seccomp profile, or kernel.io_uring_disabled */
		return 77;
	expect(result(syscall(SYS_io_uring_enter, fd, 0, 0, 0, NULL, 0)), -ENOSYS);
	expect(result(syscall(SYS_io_uring_register, fd, 0, NULL, 0)), -ENOSYS);
	expect(close(fd), 0);
	return perf_result();
}
