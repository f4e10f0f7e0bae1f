/* ref_ctr_offset: the counter in the guest's memory says how many places in its code are probed. */
#include <sys/wait.h>
#include "tests/abi/uprobe.h"

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned short semaphore __attribute__((section(".probes"))) = 0;

NOINLINE void probed(void)
{
	__asm__ volatile("nop");
}

NOINLINE void also(void)
{
	__asm__ volatile("nop; nop");
}

static u64 config(void)
{
	return place_of((const void *)&semaphore).offset << 32;
}

static void counts(void)
{
	long fd = uprobe_open(probed, config()), second, third;

	expect(semaphore, 1);
	second = uprobe_open(probed, config());
	expect(semaphore, 1); /* one place */
	third = uprobe_open(also, config() | UPROBE_RETURN);
	expect(semaphore, 2);
	perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_ioctl(second, PERF_EVENT_IOC_DISABLE, 0);
	expect(semaphore, 2);
	close((int)fd);
	expect(semaphore, 2);
	close((int)second);
	expect(semaphore, 1);
	close((int)third);
	expect(semaphore, 0);
}

static void disabled_from_the_beginning(void)
{
	struct place p = place_of(probed);
	struct perf_attr a = uprobe_at(&p, config());
	long fd;

	a.disabled = 1;
	fd = perf_open(&a, 0, -1, -1, 0);
	expect(semaphore, 1);
	probed();
	expect(uprobe_count(fd), 0);
	expect(semaphore, 0);
}

static void in_children(void)
{
	struct place p = place_of(probed);
	struct perf_attr a = uprobe_at(&p, config());
	int go[2], ready[2], status;
	char c = 0;
	long fd;
	pid_t pid;

	a.inherit = 1;
	expect(pipe(go) | pipe(ready), 0);
	fd = perf_open(&a, 0, -1, -1, 0);
	pid = fork();
	if (!pid) {
		close((int)fd);
		expect(semaphore, 1);
		probed();
		expect(write(ready[1], &c, 1), 1);
		expect(read(go[0], &c, 1), 1); /* the parent has closed it */
		_exit(failures || semaphore);
	}
	expect(read(ready[0], &c, 1), 1);
	close((int)fd);
	expect(semaphore, 0);
	expect(write(go[1], &c, 1), 1);
	waitpid(pid, &status, 0);
	expect(status, 0);
}

/* Of another process, in its memory alone. */
static void of_others(void)
{
	struct place p = place_of(probed);
	struct perf_attr a = uprobe_at(&p, config());
	int go[2], status;
	char c = 0;
	long fd;
	pid_t pid;

	expect(pipe(go), 0);
	pid = fork();
	if (!pid) {
		expect(read(go[0], &c, 1), 1);
		_exit(failures || semaphore != 1);
	}
	fd = perf_open(&a, pid, -1, -1, 0);
	expect(semaphore, 0);
	expect(write(go[1], &c, 1), 1);
	waitpid(pid, &status, 0);
	expect(status, 0);
	close((int)fd);
}

int main(void)
{
	uprobe_skip_without();
	counts();
	disabled_from_the_beginning();
	in_children();
	of_others();
	return perf_result();
}
