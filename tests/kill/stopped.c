/*
 * stopped ROUNDS: members that count and sample are stopped, continued and killed at random moments, and nobody waits
 * for them.
 *
 * Some children run the same work over and over, with events of their own that sample into rings at periods from 20 to
 * 1,000,000. ROUNDS times one of them gets SIGSTOP; while it is stopped its parent reads, disables and enables events
 * on it, opens and closes another, and forks; then it gets SIGCONT, or now and then SIGKILL, and is replaced. Beside
 * that a thread of the parent opens and closes events of its own, and a timer's signals come all the time.
 *
 * Each call of the parent must be done in time, each signal must come in time, each record in the rings must be whole,
 * and the parent's own counts must be exact.
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
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEMBERS 3
#define RING_PAGES 8u
#define RING_BYTES (RING_PAGES * 4096ul)

static const uint64_t periods[] = {20, 50, 1000, 20000, 1000000};

static struct member {
	pid_t pid;
	int fd; /* an inherited event of the parent's; samples into ring */
	struct perf_event_mmap_page *ring;
	uint64_t records;
} member[MEMBERS];

static struct shared {
	volatile unsigned rounds[MEMBERS];
} *shared;

static volatile int over;
static int failures;
static uint64_t longest, longest_signal, slow;
static uint64_t allowed_ns;
static volatile uint64_t signal_due;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int open_event(pid_t pid, uint64_t period, int inherit)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
		.inherit = inherit,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void fail(const char *what, long value)
{
	if (failures++ < 10)
		printf("%s: %ld\n", what, value);
}

static uint64_t read_event(int fd)
{
	uint64_t value = 0;

	if (read(fd, &value, sizeof(value)) != sizeof(value))
		fail("read", errno);
	return value;
}

static __attribute__((noinline)) unsigned work(volatile unsigned *x)
{
	for (int i = 0; i < 500; i++)
		*x = *x & 1 ? *x * 3 + 1 : *x / 2 + (unsigned)i;
	return *x;
}

/* Whatever numbers pcl had its own descriptors at, it has others now than the other members. */
static void take_numbers(void)
{
	for (int fd = 100; fd < 1024; fd++)
		if (dup2(2, fd) == fd)
			close(fd);
}

/* A child: samples itself into a ring of its own as well, which nobody reads, and makes threads and events. */
static void live(int number)
{
	volatile unsigned x = 1;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (number == 1)
		take_numbers();
	for (;;) {
		fd = open_event(0, periods[shared->rounds[number] % 5], 0);
		for (int i = 0; i < 20; i++)
			work(&x);
		if (fd >= 0)
			close(fd);
		shared->rounds[number]++;
	}
}

static void start(int number)
{
	struct member *m = &member[number];

	m->pid = fork();
	if (!m->pid) {
		live(number);
		_exit(0);
	}
	m->fd = open_event(m->pid, periods[(unsigned)rand() % 5], 0);
	if (m->fd < 0)
		fail("event on a child", errno);
	m->ring = mmap(NULL, 4096 + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->ring == MAP_FAILED)
		fail("mmap", errno);
}

/* Every record that is there must be one that there can be. */
static void drain(struct member *m)
{
	const char *data = (const char *)m->ring + 4096;
	uint64_t head = __atomic_load_n(&m->ring->data_head, __ATOMIC_ACQUIRE), tail = m->ring->data_tail;

	while (tail < head) {
		const struct perf_event_header *h = (const void *)(data + tail % RING_BYTES);
		int whole = (h->type == PERF_RECORD_SAMPLE && h->size == 24) ||
			    (h->type == PERF_RECORD_LOST && h->size == 24) ||
			    ((h->type == PERF_RECORD_THROTTLE || h->type == PERF_RECORD_UNTHROTTLE) && h->size == 32);

		if (!whole) {
			fail("torn record of type", h->type);
			break;
		}
		m->records++;
		tail += h->size;
	}
	__atomic_store_n(&m->ring->data_tail, head, __ATOMIC_RELEASE);
}

static void end(struct member *m)
{
	kill(m->pid, SIGKILL);
	waitpid(m->pid, NULL, 0);
	drain(m);
	munmap(m->ring, 4096 + RING_BYTES);
	close(m->fd);
}

static void in_time(const char *what, uint64_t begin)
{
	uint64_t took = now() - begin;

	if (took > longest)
		longest = took;
	if (took > allowed_ns) {
		slow++;
		printf("%s took %lu us\n", what, (unsigned long)(took / 1000));
	}
}

/* What others do while that one is stopped. */
static void bother(struct member *m)
{
	uint64_t begin = now(), value, again;
	pid_t pid;
	int fd;

	value = read_event(m->fd);
	in_time("read", begin);
	again = read_event(m->fd);
	if (again < value)
		fail("a count went back by", (long)(value - again));
	begin = now();
	ioctl(m->fd, PERF_EVENT_IOC_DISABLE, 0);
	in_time("DISABLE", begin);
	begin = now();
	ioctl(m->fd, PERF_EVENT_IOC_ENABLE, 0);
	in_time("ENABLE", begin);
	begin = now();
	fd = open_event(m->pid, 0, 1);
	if (fd < 0)
		fail("open", errno);
	close(fd);
	in_time("open and close", begin);
	begin = now();
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	in_time("fork", begin);
	drain(m);
}

static void *open_and_close(void *arg)
{
	volatile unsigned x = 1;
	uint64_t first = 0;
	sigset_t alarm;

	sigemptyset(&alarm); /* its handler would be counted */
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	while (!over) {
		int fd = open_event(0, 0, 0);
		uint64_t before = read_event(fd), n;

		x = 27;
		work(&x);
		n = read_event(fd) - before;
		if (!first)
			first = n;
		if (n != first)
			fail("a survivor's count is off by", (long)(n - first));
		close(fd);
	}
	return NULL;
}

static void on_timer(int signo)
{
	uint64_t t = now();

	if (t > signal_due && t - signal_due > longest_signal)
		longest_signal = t - signal_due;
	signal_due = t + 5000000;
}

static void start_timer(void)
{
	struct sigaction act = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	struct itimerval t = {{0, 5000}, {0, 5000}};

	sigaction(SIGALRM, &act, NULL);
	signal_due = now() + 5000000;
	setitimer(ITIMER_REAL, &t, NULL);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000;
	pthread_t thread;
	uint64_t records = 0;

	allowed_ns = (argc > 2 ? (uint64_t)atol(argv[2]) : 100) * 1000000;
	srand(7);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < MEMBERS; i++)
		start(i);
	pthread_create(&thread, NULL, open_and_close, NULL);
	start_timer();
	for (long n = 0; n < rounds && failures < 10; n++) {
		struct member *m = &member[rand() % MEMBERS];

		usleep((unsigned)rand() % 500);
		kill(m->pid, SIGSTOP);
		bother(m);
		if (rand() % 8) {
			kill(m->pid, SIGCONT);
			continue;
		}
		records += m->records;
		end(m);
		m->records = 0;
		start((int)(m - member));
	}
	over = 1;
	pthread_join(thread, NULL);
	for (int i = 0; i < MEMBERS; i++) {
		end(&member[i]);
		records += member[i].records;
	}
	printf("%ld rounds, %lu records, longest call %lu us, longest signal %lu us, %lu slow\n", rounds,
	       (unsigned long)records, (unsigned long)(longest / 1000), (unsigned long)(longest_signal / 1000),
	       (unsigned long)slow);
	if (!records)
		fail("no records", 0);
	return failures || slow > (uint64_t)rounds / 500;
}
