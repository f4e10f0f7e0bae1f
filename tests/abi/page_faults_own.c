/*
 * Page faults are the program's own: to run code for the first time, which the processor or whoever stands in for it
 * may have to prepare, is none. From outside the count never falls.
 * covers: PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include "tests/abi/errno/perf.h"

#define FUNCTIONS 16384
#define STEP	  16 /* bytes of each */
#define PAGES	  1000
#define FORKS	  100
#define OTHERS	  150 /* of stacks, of what is read for the first time */

static const unsigned char *make_code(void)
{
	static const unsigned char ret[STEP] = {0x8d, 0x47, 0x01, 0xc3}; /* lea 1(%rdi), %eax; ret */
	unsigned char *code = mmap(NULL, FUNCTIONS * STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect(code != MAP_FAILED, 1);
	for (int i = 0; i < FUNCTIONS; i++)
		memcpy(code + i * STEP, ret, STEP);
	expect(mprotect(code, FUNCTIONS * STEP, PROT_READ | PROT_EXEC), 0);
	return code;
}

static int run_code(const unsigned char *code)
{
	int sum = 0;

	for (int i = 0; i < FUNCTIONS; i++)
		sum = ((int (*)(int))(const void *)(code + i * STEP))(sum);
	return sum;
}

static void touch_pages(void)
{
	char *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, PAGES * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, PAGES * 4096);
}

static long open_faults(unsigned int which, int pid)
{
	struct perf_attr a = perf_attr_sw(which);

	a.exclude_kernel = 1;
	return perf_open(&a, pid, -1, -1, 0);
}

static void of_oneself(void)
{
	long all = open_faults(PERF_COUNT_SW_PAGE_FAULTS, 0), minor = open_faults(PERF_COUNT_SW_PAGE_FAULTS_MIN, 0);
	const unsigned char *code = make_code();
	long before = perf_value(all), seen;

	expect(before >= FUNCTIONS * STEP / 4096, 1);
	expect(run_code(code), FUNCTIONS);
	seen = perf_value(all) - before;
	if (seen > OTHERS)
		expect(seen, OTHERS);
	before = perf_value(minor);
	touch_pages();
	seen = perf_value(minor) - before;
	expect(seen >= PAGES && seen <= PAGES + 10, 1);
	close((int)all);
	close((int)minor);
}

static void of_another(void)
{
	int go[2], status;
	long fd, last = 0, now;
	pid_t pid;
	char byte;

	expect(pipe(go), 0);
	pid = fork();
	if (!pid) {
		const unsigned char *code = make_code();

		touch_pages();
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		touch_pages();
		_exit(run_code(code) != FUNCTIONS);
	}
	fd = open_faults(PERF_COUNT_SW_PAGE_FAULTS, pid);
	expect(write(go[1], "", 1), 1);
	do {
		now = perf_value(fd);
		if (now < last)
			expect(now, last);
		last = now;
	} while (!waitpid(pid, &status, WNOHANG));
	expect(status, 0);
	now = perf_value(fd);
	expect(now >= last && now >= PAGES, 1);
	if (now > 2 * PAGES + FUNCTIONS * STEP / 4096 + OTHERS)
		expect(now, 2 * PAGES);
}

/* From its first instruction on: the code that prepares it may be another one then. */
static void of_an_executed(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);
	int go[2], status;
	long fd, seen;
	pid_t pid;
	char byte;

	expect(pipe(go), 0);
	pid = fork();
	if (!pid) {
		if (read(go[0], &byte, 1) == 1)
			execl("/proc/self/exe", "page_faults_own", "code", NULL);
		_exit(2);
	}
	a.exclude_kernel = a.disabled = a.enable_on_exec = 1;
	fd = perf_open(&a, pid, -1, -1, 0);
	expect(write(go[1], "", 1), 1);
	expect(waitpid(pid, &status, 0), pid);
	expect(status, 0);
	seen = perf_value(fd);
	expect(seen >= PAGES + FUNCTIONS * STEP / 4096, 1);
	if (seen > PAGES + FUNCTIONS * STEP / 4096 + OTHERS)
		expect(seen, PAGES);
}

/* A fork copies what the parent writes next, and only that: the parent's pages, and the child's. */
static void of_forks(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);
	long own = perf_open(&a, 0, -1, -1, 0), all, before, seen;
	int status;

	a.inherit = 1;
	all = perf_open(&a, 0, -1, -1, 0);
	before = perf_value(own);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		expect(waitpid(pid, &status, 0), pid);
	}
	seen = perf_value(own) - before;
	if (seen > FORKS * 6)
		expect(seen, FORKS * 2);
	seen = perf_value(all);
	if (seen > FORKS * 24)
		expect(seen, FORKS * 16);
	close((int)own);
	close((int)all);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		touch_pages();
		return run_code(make_code()) != FUNCTIONS;
	}
	of_oneself();
	of_another();
	of_an_executed();
	of_forks();
	return perf_result();
}
