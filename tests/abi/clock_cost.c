/*
 * What a question for the time costs is always the same, just after a full second, too: so many calls for so long that
 * the seconds change, in portions whose instructions are counted.
 */
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>
#include "tests/abi/errno/perf.h"

#define CALLS	 20000
#define LONG_NS	 2200000000l
#define PORTIONS 100000

static long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000l + ts.tv_nsec;
}

static unsigned long count(int fd)
{
	unsigned long value = 0;

	if (read(fd, &value, sizeof(value)) != sizeof(value))
		exit(1);
	return value;
}

static unsigned long portion(int fd)
{
	unsigned long before = count(fd);
	struct timespec ts;
	struct timeval tv;

	for (int i = 0; i < CALLS; i++) {
		clock_gettime(CLOCK_REALTIME, &ts);
		gettimeofday(&tv, NULL);
	}
	return count(fd) - before;
}

/* Each of them goes on, and they agree. */
static void test_clocks(void)
{
	static const clockid_t clocks[] = {CLOCK_REALTIME,	    CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
					   CLOCK_BOOTTIME,	    CLOCK_TAI,	     CLOCK_REALTIME_COARSE,
					   CLOCK_PROCESS_CPUTIME_ID};

	for (unsigned i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		struct timespec before, asked, after;

		expect(syscall(SYS_clock_gettime, clocks[i], &before), 0);
		expect(clock_gettime(clocks[i], &asked), 0);
		expect(syscall(SYS_clock_gettime, clocks[i], &after), 0);
		expect(asked.tv_sec < before.tv_sec ||
			       (asked.tv_sec == before.tv_sec && asked.tv_nsec < before.tv_nsec),
		       0);
		expect(asked.tv_sec > after.tv_sec || (asked.tv_sec == after.tv_sec && asked.tv_nsec > after.tv_nsec),
		       0);
	}
	expect(clock_gettime(1234, &(struct timespec){0}), -1);
}

static void test_time_of_day(void)
{
	struct timespec before, after;
	struct timezone zone = {1, 1};
	struct timeval tv;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &before);
	expect(gettimeofday(&tv, (void *)&zone), 0);
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &after);
	expect(tv.tv_sec >= before.tv_sec && tv.tv_sec <= after.tv_sec && tv.tv_usec >= 0 && tv.tv_usec < 1000000, 1);
}

int main(void)
{
	struct perf_attr attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof(attr), .config = 1, .exclude_kernel = 1};
	int fd = (int)perf_open(&attr, 0, -1, -1, 0);
	unsigned long cost;
	long end;

	test_clocks();
	test_time_of_day();
	if (!getauxval(AT_SYSINFO_EHDR) || fd < 0) {
		puts("no vDSO, or nothing that counts instructions");
		return failures ? 1 : 77;
	}
	portion(fd);
	cost = portion(fd);
	end = now() + LONG_NS;
	for (int i = 0; i < PORTIONS && now() < end; i++)
		expect(portion(fd), cost);
	return failures != 0;
}
