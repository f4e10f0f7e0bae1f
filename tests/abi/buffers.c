/* Where an event is read to: lengths and addresses are looked at first, all of them. */
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include "tests/abi/errno/perf.h"

#define KERNEL ((void *)(1ul << 63))

static long read_to(int fd, void *to, size_t size)
{
	long n = syscall(SYS_read, fd, to, size);

	return n < 0 ? -errno : n;
}

static long readv_to(int fd, const struct iovec *to, int n)
{
	long got = syscall(SYS_readv, fd, to, n);

	return got < 0 ? -errno : got;
}

int main(void)
{
	struct perf_attr attr = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int fd = (int)perf_open(&attr, 0, -1, -1, 0);
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec *last = (struct iovec *)(pages + 4096) - 1;
	struct pollfd p = {fd, POLLIN, 0};
	struct rlimit files, none;
	char value[8];

	if (fd < 0 || munmap(pages + 4096, 4096))
		return 77;
	expect(read_to(fd, value, sizeof(value)), 8);
	expect(read_to(fd, value, 7), -ENOSPC);
	expect(read_to(fd, value, ~0ul), -EFAULT);
	expect(read_to(fd, KERNEL, 8), -EFAULT);
	expect(read_to(fd, KERNEL, 0), -EFAULT);
	expect(readv_to(fd, (struct iovec[]){{value, 8}, {value, 8}}, 2), 16);
	expect(readv_to(fd, (struct iovec[]){{value, 8}, {value, ~0ul}}, 2), -EINVAL);
	expect(readv_to(fd, (struct iovec[]){{value, 8}, {KERNEL, 8}}, 2), -EFAULT);
	*last = (struct iovec){value, 8};
	expect(readv_to(fd, last, 1), 8);
	expect(readv_to(fd, last, 2), -EFAULT);
	expect(poll(&p, 1, 0), 1);
	if (getrlimit(RLIMIT_NOFILE, &files))
		return 1;
	none = files;
	none.rlim_cur = 0;
	expect(setrlimit(RLIMIT_NOFILE, &none), 0);
	expect(poll(&p, 1, 0) < 0 ? -errno : 0, -EINVAL);
	expect(setrlimit(RLIMIT_NOFILE, &files), 0);
	return perf_result();
}
