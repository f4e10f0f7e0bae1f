/* Threads that touch no new page have no page faults, nor has who makes them: an event that they inherit counts few. */
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/abi/errno/perf.h"

#define THREADS 200
#define FEW 20

static char stack[65536] __attribute__((aligned(16)));
static volatile int tid;

static int thread(void *arg)
{
	return 0;
}

static void make_one(void)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		    CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID, seen;

	tid = -1;
	if (clone(thread, stack + sizeof(stack), flags, NULL, &tid, NULL, &tid) < 0)
		_exit(2);
	while ((seen = tid))
		syscall(SYS_futex, &tid, FUTEX_WAIT, seen, NULL, NULL, 0);
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_PAGE_FAULTS,
		.inherit = 1, .exclude_kernel = 1,
	};
	uint64_t before, after;
	int fd = (int)perf_open(&attr, 0, -1, -1, 0);

	if (fd < 0)
		return 77;
	memset(stack, 1, sizeof(stack));
	for (int i = 0; i < 3; i++)
		make_one();
	if (read(fd, &before, sizeof(before)) != sizeof(before))
		return 2;
	for (int i = 0; i < THREADS; i++)
		make_one();
	if (read(fd, &after, sizeof(after)) != sizeof(after))
		return 2;
	if (after - before > FEW)
		printf("%lu faults\n", after - before);
	expect(after - before <= FEW, 1);
	return perf_result();
}
