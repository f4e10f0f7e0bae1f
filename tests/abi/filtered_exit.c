/*
 * A seccomp filter that kills for getppid(2) does not stop a process from ending as it likes, although the record of
 * its end has its parent. Skips where no filter can be installed.
 */
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"
#include "tests/abi/kill_filter.h"

#define PAGE   4096
#define PAGES  9
#define STATUS 7
#define SKIP   77

/* The parent in the EXIT record of that process, or -1. */
static int recorded_parent(const struct perf_event_mmap_page *page, pid_t pid)
{
	const char *data = (const char *)page + PAGE;
	const struct perf_event_header *h;

	for (u64 at = 0; at < page->data_head; at += h->size) {
		const int *ids; /* pid, ppid */

		h = (const void *)(data + at);
		ids = (const int *)(h + 1);
		if (h->type == PERF_RECORD_EXIT && ids[0] == pid)
			return ids[1];
	}
	return -1;
}

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	struct perf_event_mmap_page *page;
	int go[2], status;
	char byte;
	pid_t pid;
	long fd;

	if (pipe(go))
		return 1;
	pid = fork();
	if (!pid) {
		if (read(go[0], &byte, 1) != 1 || kill_for(SYS_getppid))
			_exit(SKIP);
		_exit(STATUS);
	}
	a.task = 1;
	fd = perf_open(&a, pid, -1, -1, 0);
	expect(fd >= 0, 1);
	page = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	expect(page != MAP_FAILED, 1);
	expect(write(go[1], "", 1), 1);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
		return SKIP;
	expect(WIFEXITED(status) && WEXITSTATUS(status) == STATUS, 1);
	if (page != MAP_FAILED)
		expect(recorded_parent(page, pid), getpid());
	return perf_result();
}
