/* What a process has of things that are to be given back. */
#ifndef TESTS_FUZZ_ROOM_H
#define TESTS_FUZZ_ROOM_H

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The descriptors of this process, and the largest ring that an event can be given, in pages: as at the beginning when
 * all is closed.
 */
struct room {
	int fds, pages;
};

static struct room room_now(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct room r = {0, 1024};
	void *p = MAP_FAILED;

	for (int i = 0; i < 1024; i++)
		r.fds += fcntl(i, F_GETFD) >= 0;
	for (; r.pages && p == MAP_FAILED; r.pages /= 2)
		p = mmap(NULL, 4096 * (1 + (size_t)r.pages), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		munmap(p, 4096 * (1 + 2 * (size_t)r.pages));
	close(fd);
	return r;
}

#endif
