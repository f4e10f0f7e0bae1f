/*
 * storm_sampling VICTIMS: kills sampling processes with SIGKILL at random moments while this process reads their
 * records.
 *
 * There is a ring per CPU, into which all threads and children of all victims sample; they open and close their events
 * all the time. A reader drains the rings and looks at every record: whole, of a known kind, and no earlier than the
 * one before of the same thread. Meanwhile two survivors, a thread of this process and a process of its own, sample
 * into rings of theirs: at the end each has a sample, or one that is told as lost, for every period of its count. Then
 * rings can be made as before.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 3
#define CPUS_MAX 8
#define PAGES 16
#define PERIOD 997
#define TIDS (1u << 22) /* the kernel's most */

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
	uint64_t samples, lost;
	uint64_t *last; /* time by thread id */
};

struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
};

static struct ring ring[CPUS_MAX + 2];
static int cpus;
static volatile int stop, wrong;
static volatile int *survivor_stops;

static int fail(const char *what, long a, long b)
{
	printf("%s: %ld, %ld\n", what, a, b);
	wrong = 1;
	return 1;
}

static int open_event(pid_t pid, int cpu, uint64_t config, uint64_t period)
{
	struct perf_event_attr attr = {
		.type = config == PERF_COUNT_SW_DUMMY ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.read_format = 1 << 4, /* PERF_FORMAT_LOST */
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = pid > 0, /* it runs: its samples are to have a ring from the first on */
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int map_ring(struct ring *r, int fd)
{
	void *p = mmap(NULL, 4096 * (1 + PAGES), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd < 0 || p == MAP_FAILED)
		return fail("a ring", fd, errno);
	*r = (struct ring){.fd = fd, .page = p};
	r->last = mmap(NULL, TIDS * sizeof(*r->last), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return r->last == MAP_FAILED ? fail("memory", errno, 0) : 0;
}

/* The same instructions each time, with calls and stores in them. */
static __attribute__((noinline)) unsigned work(volatile unsigned *x)
{
	for (int i = 0; i < 3000; i++)
		*x = *x & 1 ? *x * 3 + 1 : *x / 2 + i;
	return *x;
}

/* ---- producers ---- */

static void *busy(void *arg)
{
	volatile unsigned x = 1;

	for (;;) {
		int fd[CPUS_MAX];

		for (int c = 0; c < cpus; c++) {
			fd[c] = open_event(0, c, PERF_COUNT_HW_INSTRUCTIONS, PERIOD);
			if (ioctl(fd[c], PERF_EVENT_IOC_SET_OUTPUT, ring[c].fd))
				_exit(3);
		}
		for (int i = 0; i < 10; i++)
			work(&x);
		for (int c = 0; c < cpus; c++)
			close(fd[c]);
	}
	return arg;
}

static void victim(void)
{
	pid_t me = getpid();
	pthread_t t;

	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != me)
			_exit(0);
	}
	pthread_create(&t, NULL, busy, NULL);
	busy(NULL);
}

static void *survive(void *arg)
{
	volatile unsigned x = 27;

	while (!*survivor_stops)
		work(&x);
	return arg;
}

static void *survivor_thread(void *tid)
{
	__atomic_store_n((pid_t *)tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	return survive(NULL);
}

/* ---- the reader ---- */

static int look(struct ring *r, const char *bytes)
{
	union {
		struct perf_event_header header;
		struct sample sample;
		uint64_t words[8];
	} rec;

	memcpy(&rec, bytes, sizeof(rec));
	switch (rec.header.type) {
	case PERF_RECORD_SAMPLE:
		if (rec.header.size != sizeof(rec.sample) || rec.sample.tid >= TIDS)
			return fail("a torn sample", rec.header.size, rec.sample.tid);
		if (rec.sample.time < r->last[rec.sample.tid])
			return fail("time goes back", (long)rec.sample.time, (long)r->last[rec.sample.tid]);
		r->last[rec.sample.tid] = rec.sample.time;
		r->samples++;
		return 0;
	case PERF_RECORD_LOST:
		if (rec.header.size != 24)
			return fail("a torn record of losses", rec.header.size, 0);
		r->lost += rec.words[2];
		return 0;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return rec.header.size == 32 ? 0 : fail("a torn record", rec.header.type, rec.header.size);
	default:
		return fail("a record of no known kind", rec.header.type, rec.header.size);
	}
}

static int drain(struct ring *r)
{
	const uint64_t size = 4096 * PAGES, head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)r->page + 4096;
	uint64_t tail = r->page->data_tail;
	char bytes[64];

	if (head - tail > size)
		return fail("more in the ring than it holds", (long)head, (long)tail);
	while (tail != head && !wrong) {
		for (uint64_t i = 0; i < sizeof(bytes); i += 8)
			memcpy(bytes + i, data + (tail + i) % size, 8);
		tail += ((struct perf_event_header *)bytes)->size;
		if (tail > head)
			return fail("a record goes beyond data_head", (long)tail, (long)head);
		look(r, bytes);
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	return wrong;
}

static void *reader(void *arg)
{
	for (int n = 0; !stop && !wrong; n++) {
		for (int i = 0; i < cpus + 2; i++)
			drain(&ring[i]);
		usleep(n % 16 ? 200 : 20000); /* rings are full then */
	}
	return arg;
}

/* ---- at the end ---- */

/* Losses are told before the next sample, so that the last ones may not have been. */
static void check_survivor(struct ring *r)
{
	uint64_t now[2] = {0, 0}; /* the count, and how many samples were lost */

	ioctl(r->fd, PERF_EVENT_IOC_DISABLE, 0);
	drain(r);
	if (read(r->fd, now, sizeof(now)) != sizeof(now) || now[0] < 100 * PERIOD)
		fail("a survivor's count", (long)now[0], errno);
	if (r->samples + now[1] != now[0] / PERIOD || r->lost > now[1])
		fail("a survivor's samples", (long)(r->samples + now[1]), (long)(now[0] / PERIOD));
}

/* More than there would be if those of the dead were still taken. */
static void check_room(void)
{
	for (int i = 0; i < 300; i++) {
		int fd = open_event(0, -1, PERF_COUNT_HW_INSTRUCTIONS, PERIOD);
		void *p = mmap(NULL, 4096 * (1 + PAGES), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (fd < 0 || p == MAP_FAILED) {
			fail("no room for a ring", i, errno);
			return;
		}
		munmap(p, 4096 * (1 + PAGES));
		close(fd);
	}
}

static pid_t new_victim(void)
{
	pid_t pid = fork();

	if (!pid)
		victim();
	if (pid < 0)
		fail("fork", errno, 0);
	return pid;
}

static void kill_victim(int i, pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail("a victim did not die of SIGKILL", i, status);
	while (waitpid(-1, &status, WNOHANG) > 0)
		; /* its orphans */
}

int main(int argc, char **argv)
{
	int victims = argc > 1 ? atoi(argv[1]) : 300, status;
	pid_t pid[AT_ONCE] = {0}, survivor, tid = 0;
	pthread_t thread, reading;
	uint64_t samples = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	cpus = cpus > CPUS_MAX ? CPUS_MAX : cpus;
	survivor_stops = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	survivor = fork();
	if (!survivor) {
		survive(NULL);
		_exit(0);
	}
	pthread_create(&thread, NULL, survivor_thread, &tid);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		usleep(100);
	for (int c = 0; c < cpus; c++)
		if (map_ring(&ring[c], open_event(-1, c, PERF_COUNT_SW_DUMMY, 0)))
			return 1;
	if (map_ring(&ring[cpus], open_event(survivor, -1, PERF_COUNT_HW_INSTRUCTIONS, PERIOD)) ||
	    map_ring(&ring[cpus + 1], open_event(tid, -1, PERF_COUNT_HW_INSTRUCTIONS, PERIOD)))
		return 1;
	ioctl(ring[cpus].fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(ring[cpus + 1].fd, PERF_EVENT_IOC_ENABLE, 0);
	pthread_create(&reading, NULL, reader, NULL);
	srand((unsigned)victims);
	for (int i = 0; i < victims + AT_ONCE && !wrong; i++) {
		if (i >= AT_ONCE) {
			usleep((unsigned)rand() % 8000);
			kill_victim(i, pid[i % AT_ONCE]);
		}
		if (i < victims)
			pid[i % AT_ONCE] = new_victim();
	}
	*survivor_stops = 1;
	pthread_join(thread, NULL);
	if (waitpid(survivor, &status, 0) != survivor || status)
		fail("the surviving process", survivor, status);
	stop = 1;
	pthread_join(reading, NULL);
	for (int i = 0; i < cpus; i++) {
		drain(&ring[i]);
		samples += ring[i].samples;
	}
	check_survivor(&ring[cpus]);
	check_survivor(&ring[cpus + 1]);
	check_room();
	if (samples < (uint64_t)victims * 10)
		fail("few samples of the victims", (long)samples, 0);
	if (!ring[cpus].lost)
		fail("no losses", 0, 0);
	printf("%d killed; %lu samples of them; %lu of a survivor, and %lu lost\n", victims, (unsigned long)samples,
	       (unsigned long)ring[cpus].samples, (unsigned long)ring[cpus].lost);
	return wrong;
}
