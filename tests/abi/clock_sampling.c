/*
 * cpu-clock and task-clock sample by the CPU time that the task uses: as many samples as the frequency says while it
 * computes, also between many system calls, none while it sleeps; and nobody sees a system call interrupted or cut.
 * covers: PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK, attr.freq, attr.sample_freq
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include "tests/abi/sampling.h"

#define FREQUENCY 4000

static struct perf_attr clock_attr(u64 config)
{
	struct perf_attr a = perf_attr_sw(config);

	a.freq = 1;
	a.sample_freq = FREQUENCY;
	a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	a.disabled = 1;
	return a;
}

/* In user mode all the while: elsewhere exclude_kernel would leave samples out. */
static void compute(void)
{
	for (volatile int i = 0; i < 100000000; i++)
		;
}

static void count_while_computing(u64 config)
{
	struct perf_attr a = clock_attr(config);
	struct sampler s = sampler_open(&a, -1);
	u64 samples;
	long ns;

	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	compute();
	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	ns = perf_value(s.fd);
	samples = sampler_take(&s);
	expect(samples * 1000000000 / FREQUENCY <= (u64)ns + 2 * 1000000000 / FREQUENCY, 1);
	/* each time that it is preempted costs Linux part of a period */
	expect(samples * 1000000000 / FREQUENCY >= (u64)ns / 2, 1);
	if (failures)
		printf("%lu samples in %ld ns\n", samples, ns);
	sampler_close(&s);
}

/*
 * In user mode nearly all the time, with system calls so often that the clock rarely runs out without one in between.
 */
static void count_between_calls(void)
{
	struct perf_attr a = clock_attr(PERF_COUNT_SW_TASK_CLOCK);
	struct sampler s;
	u64 samples;
	long ns;

	a.exclude_kernel = 1;
	s = sampler_open(&a, -1);
	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	for (int i = 0; i < 5000; i++) {
		for (volatile int j = 0; j < 20000; j++)
			;
		getppid();
	}
	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	ns = perf_value(s.fd);
	samples = sampler_take(&s);
	expect(samples * 1000000000 / FREQUENCY >= (u64)ns / 2, 1);
	if (failures)
		printf("%lu samples in %ld ns with system calls\n", samples, ns);
	sampler_close(&s);
}

#define LARGE (1 << 20)

/* The other end of the pipe: takes the data in small pieces. */
static void read_slowly(int end, int other)
{
	static char piece[1024];

	close(other);
	while (read(end, piece, sizeof(piece)) > 0)
		for (volatile int i = 0; i < 20000; i++)
			;
	_exit(0);
}

/* A signal would cut these transfers short. */
static void transfer_whole(void)
{
	struct perf_attr a = clock_attr(PERF_COUNT_SW_CPU_CLOCK);
	struct sampler s = sampler_open(&a, -1);
	int end[2], zero = open("/dev/zero", O_RDONLY), status;
	char *buf = malloc(LARGE);
	pid_t child;

	expect(pipe(end), 0);
	child = fork();
	if (!child)
		read_slowly(end[0], end[1]);
	close(end[0]);
	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	for (int i = 0; i < 100 && !sampler_take(&s); i++) /* only user mode is sampled */
		spin(5);
	expect(s.seen > 0, 1);
	for (int i = 0; i < 500; i++)
		expect(read(zero, buf, LARGE), LARGE);
	for (int i = 0; i < 4; i++)
		expect(write(end[1], buf, LARGE), LARGE);
	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	close(end[1]);
	expect(waitpid(child, &status, 0), child);
	close(zero);
	free(buf);
	sampler_close(&s);
}

static u64 mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000 + (u64)t.tv_nsec / 1000000;
}

/* All of these end with EINTR when a signal is handled, and some restart their time-out if they are made again. */
static void sleep_in_all_ways(int pipe_end)
{
	struct timespec t = {0, 30000000}, left;
	struct pollfd p = {.fd = pipe_end, .events = POLLIN};
	u64 begin = mono_ms(), end;

	for (int i = 0; i < 3; i++) {
		expect(nanosleep(&t, &left), 0);
		expect(poll(&p, 1, 30), 0);
		expect(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &left), 0);
		spin(1);
	}
	end = mono_ms();
	expect(end - begin >= 270, 1);
	expect(end - begin < 10000, 1); /* not for ever */
}

static void count_while_sleeping(void)
{
	struct perf_attr a = clock_attr(PERF_COUNT_SW_CPU_CLOCK);
	struct sampler s = sampler_open(&a, -1);
	int end[2];
	long ns;

	expect(pipe(end), 0);
	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	sleep_in_all_ways(end[0]);
	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	ns = perf_value(s.fd);
	expect(sampler_take(&s) * 1000000000 / FREQUENCY <= (u64)ns + 2 * 1000000000 / FREQUENCY, 1);
	sampler_close(&s);
}

/* The program's own timers have the numbers that they would have without. */
static void own_timers(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	struct perf_attr a = clock_attr(PERF_COUNT_SW_TASK_CLOCK);
	struct sampler s = sampler_open(&a, -1);
	timer_t timer;

	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	spin(5);
	expect(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	if (perf_linux_is_new())
		expect((long)timer, 0);
	expect(timer_delete(timer), 0);
	sampler_close(&s);
}

int main(void)
{
	count_while_computing(PERF_COUNT_SW_CPU_CLOCK);
	count_while_computing(PERF_COUNT_SW_TASK_CLOCK);
	count_between_calls();
	transfer_whole();
	count_while_sleeping();
	own_timers();
	return perf_result();
}
