/*
 * 200 inherited events x 2,000 threads that live at the same time: every thread comes to be, every event counts all of
 * them.
 *
 * Run by hand: inherit_many EVENTS THREADS prints what it takes to make and to end a thread.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include "tests/abi/errno/perf.h"

#define EVENTS 200
#define THREADS 2000
#define STACK (64 * 1024)
#define WORK 1000 /* instructions at least */

static pthread_barrier_t all_live;
static char *pages; /* two for each thread: its semaphore, by which it may end, and one that it touches */

static void *in_thread(void *page)
{
	((volatile char *)page)[4096] = 1;
	for (volatile int i = 0; i < WORK; i++)
		;
	pthread_barrier_wait(&all_live);
	sem_wait((sem_t *)page + 1);
	return NULL;
}

/* CPU time of the process, in us: what others do on the machine does not matter. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* Instructions where there is hardware, or pcl, to count them; else page faults. */
static long open_inherited(int hardware, int *is_hardware)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);
	long fd = -1;

	a.inherit = a.disabled = 1;
	if (hardware) {
		struct perf_attr h = a;

		h.type = PERF_TYPE_HARDWARE;
		h.config = PERF_COUNT_HW_INSTRUCTIONS;
		h.exclude_kernel = 1;
		fd = perf_open(&h, 0, -1, -1, 0);
	}
	*is_hardware = fd >= 0;
	return fd >= 0 ? fd : perf_open(&a, 0, -1, -1, 0);
}

static void start_all(pthread_t *threads, int n)
{
	pthread_attr_t attr;
	int i, err = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (i = 0; i < n; i++)
		sem_init((sem_t *)(pages + i * 8192L) + 1, 0, 0);
	for (i = 0; i < n && !err; i++)
		err = pthread_create(&threads[i], &attr, in_thread, pages + i * 8192L);
	if (!err)
		return;
	printf("thread %d: %s\n", i, strerror(err));
	exit(1);
}

/* One after the other. A joined thread may still be on its way out. */
static void end_all(pthread_t *threads, int n)
{
	struct stat st;

	for (int i = 0; i < n; i++) {
		sem_post((sem_t *)(pages + i * 8192L) + 1);
		pthread_join(threads[i], NULL);
	}
	while (!stat("/proc/self/task", &st) && st.st_nlink > 3)
		usleep(1000);
}

/* What each event must have counted at least; and all of a kind have counted the same. */
static void check(const long *fd, const int *hardware, int events, int n)
{
	long first[2] = {0, 0}, few = 0, differ = 0;

	for (int i = 0; i < events; i++) {
		long value = perf_value(fd[i]), *other = &first[hardware[i]];

		few += value < (hardware[i] ? (long)n * WORK : n);
		differ += *other && value != *other;
		*other = value;
	}
	expect(few, 0);
	expect(differ, 0);
}

int main(int argc, char **argv)
{
	int events = argc > 2 ? atoi(argv[1]) : EVENTS, n = argc > 2 ? atoi(argv[2]) : THREADS;
	pthread_t *threads = calloc(n, sizeof(*threads));
	long *fd = calloc(events + 1, sizeof(*fd));
	int *hardware = calloc(events + 1, sizeof(*hardware));
	double begin, made, ended;

	pages = mmap(NULL, n * 8192L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, n * 8192L, MADV_NOHUGEPAGE);
	pthread_barrier_init(&all_live, NULL, n + 1);
	for (int i = 0; i < events; i++) {
		fd[i] = open_inherited(i & 1, &hardware[i]);
		expect(fd[i] >= 0, 1);
	}
	prctl(PR_TASK_PERF_EVENTS_ENABLE);
	begin = now();
	start_all(threads, n);
	pthread_barrier_wait(&all_live);
	made = now();
	end_all(threads, n);
	ended = now();
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
	if (argc > 2)
		printf("%d events, %d threads: %.1f us to make one, %.1f us to end one\n", events, n,
		       (made - begin) / n, (ended - made) / n);
	check(fd, hardware, events, n);
	return perf_result();
}
