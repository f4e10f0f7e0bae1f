/*
 * Progress: whatever signals a task's events raise, at least 40 % of what it does without them is done per second of
 * its CPU time. Ten events, or those of two threads, overflow all the time and signal, with handlers that take long,
 * with signals that are blocked and fill the queue, and with a queue that is full of others.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include "tests/abi/sampling.h"

#define EVENTS 10
#define PERIOD 100
#define STORM_MS 200
#define SHARE 40 /* percent */
#define SMALL_QUEUE 2000
#define LARGE_QUEUE 40000

static __thread volatile u64 work; /* of the main loop */
static volatile u64 taken;
static volatile u32 handler_ns;

static u64 cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (u64)t.tv_sec * 1000000000ul + (u64)t.tv_nsec;
}

/* Work per second of CPU time, over about ms of it. */
static u64 work_for(u64 ms)
{
	u64 begin = cpu_ns(), now = begin, done = work;
	u32 mixed = 1;

	while (now - begin < ms * 1000000) {
		for (u32 i = 0; i < 20000; i++) {
			mixed = mixed * 1664525 + 1013904223;
			if (mixed >> 31)
				mixed ^= i;
			work++;
		}
		now = cpu_ns();
	}
	return (work - done) * 1000000000ul / (now - begin);
}

static void on_signal(int signo, siginfo_t *info, void *uc)
{
	u64 end = handler_ns ? cpu_ns() + handler_ns : 0;

	taken++;
	while (end && cpu_ns() < end)
		;
}

static void catch(int signo)
{
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigaction(signo, &act, NULL);
}

struct storm {
	struct sampler events[EVENTS];
	bool sigtrap, standard, rings, block;
	u32 n, period;
};

static void signals_of(const struct storm *s, int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (u32 i = 0; i < EVENTS; i++)
		sigaddset(&set, SIGRTMIN + 1 + (int)i);
	if (s->block)
		pthread_sigmask(how, &set, NULL);
}

static void signal_by(int fd, int signo)
{
	struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};

	catch(signo ? signo : SIGIO);
	expect(fcntl(fd, F_SETSIG, signo), 0);
	expect(fcntl(fd, F_SETOWN_EX, &owner), 0);
	expect(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC), 0);
}

static void begin(struct storm *s)
{
	struct perf_attr a = insns_attr(s->period);

	a.exclude_kernel = 1;
	a.sigtrap = a.remove_on_exec = s->sigtrap;
	for (u32 i = 0; i < s->n; i++) {
		int fd = s->rings ? (int)(s->events[i] = sampler_open(&a, -1)).fd : (int)perf_open(&a, 0, -1, -1, 0);

		expect(fd >= 0, 1);
		s->events[i].fd = fd;
		if (!s->sigtrap)
			signal_by(fd, s->standard ? 0 : SIGRTMIN + 1 + (int)i);
		else
			catch(SIGTRAP);
	}
	signals_of(s, SIG_BLOCK);
	for (u32 i = 0; i < s->n; i++)
		expect(ioctl((int)s->events[i].fd, PERF_EVENT_IOC_ENABLE, 0), 0);
}

static void end(struct storm *s)
{
	for (u32 i = 0; i < s->n; i++)
		ioctl((int)s->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	for (u32 i = 0; i < s->n; i++)
		if (s->rings)
			sampler_close(&s->events[i]);
		else
			close((int)s->events[i].fd);
	signals_of(s, SIG_UNBLOCK);
}

/* As percent of what is done without events. */
static u64 share(struct storm s)
{
	u64 calm = work_for(50), stormy;

	begin(&s);
	stormy = work_for(STORM_MS);
	end(&s);
	return 100 * stormy / calm;
}

static void expect_progress(const char *what, struct storm s)
{
	u64 begin = taken, percent = share(s);

	if (getenv("VERBOSE"))
		printf("%s: %lu %%, %lu signals\n", what, (unsigned long)percent, (unsigned long)(taken - begin));
	if (percent < SHARE)
		printf("%s: %lu %% of the work\n", what, (unsigned long)percent);
	expect(percent >= SHARE, 1);
	if (!s.block)
		expect(taken > begin, 1);
}

static void *thread_main(void *arg)
{
	expect_progress("one of two threads", *(struct storm *)arg);
	return NULL;
}

static void two_threads(struct storm s)
{
	pthread_t other;

	pthread_create(&other, NULL, thread_main, &s);
	expect_progress("the other of two threads", s);
	pthread_join(other, NULL);
}

/* So many, as far as the user's limit goes; blocked. */
static u64 fill_queue(u64 n)
{
	struct rlimit limit;
	sigset_t set;
	u64 sent = 0;

	getrlimit(RLIMIT_SIGPENDING, &limit);
	limit.rlim_cur = n < limit.rlim_max ? n : limit.rlim_max;
	setrlimit(RLIMIT_SIGPENDING, &limit);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (sent < n && !sigqueue(getpid(), SIGRTMAX, (union sigval){0}))
		sent++;
	return sent;
}

static void empty_queue(void)
{
	struct timespec none = {0, 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	while (sigtimedwait(&set, NULL, &none) > 0)
		;
}

static void all_storms(void)
{
	struct storm s = {.n = EVENTS, .period = PERIOD};

	expect_progress("ten events", s);
	s.rings = true;
	expect_progress("ten events with rings", s);
	s.rings = false;
	s.standard = true;
	expect_progress("SIGIO", s);
	s.standard = false;
	s.block = true;
	expect_progress("blocked signals", s);
	s.block = false;
	s.sigtrap = true;
	expect_progress("sigtrap", s);
	s.sigtrap = false;
	s.n = 1;
	expect_progress("one event", s);
	s.period = 20000;
	expect_progress("one event that overflows less", s);
	s.n = EVENTS;
	s.period = 1000000;
	handler_ns = 300000;
	expect_progress("long handlers", s);
	s.period = PERIOD;
	expect_progress("long handlers, and often", s);
	handler_ns = 3000;
	expect_progress("handlers of medium length", s);
	handler_ns = 0;
}

int main(int argc, char **argv)
{
	struct storm s = {.n = EVENTS, .period = PERIOD};

	if (!have_pmu()) {
		puts("there is no PMU");
		return 77;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	all_storms();
	two_threads(s);
	fill_queue(SMALL_QUEUE);
	all_storms();
	two_threads(s);
	empty_queue();
	fill_queue(LARGE_QUEUE);
	expect_progress("ten events beside a large queue", s);
	empty_queue();
	s.block = true;
	expect_progress("ten events that fill a large queue", s);
	return perf_result();
}
