/*
 * Descriptor numbers beside a facility, for tests that nothing takes numbers but the calls that return them. One thread
 * opens and closes a file all the time: it gets the lowest number, or the next one while the facility has a descriptor
 * of its own. Another thread puts a file at the number after those, which nobody else can get, looks whether it stays
 * there, and closes it.
 */
#ifndef TESTS_ABI_STORM_H
#define TESTS_ABI_STORM_H

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include "tests/abi/errno/perf.h"

#define STORM_MS 120

static int base;	   /* the lowest free number */
static int extra;	   /* descriptors that the facility has at a time */
static volatile int stop;
static int marker;	   /* a file that is put at numbers */
static struct stat marked;
static long wrong_numbers, wrong_files;
static volatile long rounds;

static inline void *opens(void *arg)
{
	while (!stop) {
		int fd = open("/dev/null", O_RDONLY);

		wrong_numbers += fd < base || fd > base + extra;
		wrong_files += close(fd) != 0;
		rounds++;
	}
	return NULL;
}

static inline void *marks(void *arg)
{
	int number = base + 1 + extra;
	struct stat st;

	while (!stop) {
		wrong_numbers += dup2(marker, number) != number;
		for (int i = 0; i < 20; i++)
			wrong_files += fstat(number, &st) || st.st_ino != marked.st_ino;
		wrong_files += close(number) != 0;
		for (int i = 0; i < 20; i++)
			wrong_files += fstat(number, &st) == 0;
	}
	return NULL;
}

static inline u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000 + (u64)t.tv_nsec / 1000000;
}

/* One that the facility got. */
static inline void own(int fd)
{
	wrong_numbers += fd < base || fd > base + extra;
	if (fd >= 0)
		wrong_files += close(fd) != 0;
}

static inline void storm(const char *name, int descriptors, void (*facility)(void))
{
	pthread_t opener, marking;
	u64 end = now_ms() + STORM_MS;
	int times = 0;

	stop = 0;
	wrong_numbers = wrong_files = rounds = 0;
	extra = descriptors;
	expect(pthread_create(&opener, NULL, opens, NULL), 0);
	expect(pthread_create(&marking, NULL, marks, NULL), 0);
	for (; now_ms() < end || !times || !rounds; times++)
		facility();
	stop = 1;
	pthread_join(opener, NULL);
	pthread_join(marking, NULL);
	if (wrong_numbers || wrong_files)
		printf("%s, %d times: %ld wrong numbers and %ld wrong files in %ld rounds\n", name, times,
		       wrong_numbers, wrong_files, rounds);
	expect(wrong_numbers, 0);
	expect(wrong_files, 0);
}

/* ---- a process that shares the table ---- */

static void (*shared_facility)(void);
static volatile int *process_ends;

static inline int uses(void *arg)
{
	while (!*process_ends)
		shared_facility();
	return failures != 0;
}

static inline void nap(void)
{
	usleep(1000);
}

/* The facility is used by a process of its own, with the same table. */
static inline void storm_of_process(const char *name, int descriptors, void (*facility)(void))
{
	static char stack[0x40000];
	int status, pid;

	*process_ends = 0;
	shared_facility = facility;
	wrong_numbers = wrong_files = 0;
	extra = descriptors;
	pid = clone(uses, stack + sizeof(stack), CLONE_FILES | SIGCHLD, NULL);
	expect(pid > 0, 1);
	storm(name, descriptors, nap);
	*process_ends = 1;
	waitpid(pid, &status, 0);
	expect(status, 0);
}

static inline void storm_begin(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	process_ends = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	marker = (int)syscall(SYS_memfd_create, "marker", 0);
	fstat(marker, &marked);
}

/* All descriptors of the test itself are open. */
static inline void storm_from_here(void)
{
	base = dup(0);
	close(base);
}

#endif
