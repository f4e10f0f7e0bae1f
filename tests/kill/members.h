/*
 * The members of tests/kill/hostile.c that use pcl while another one writes over its memory, and what all of them
 * share.
 */
#ifndef TESTS_KILL_MEMBERS_H
#define TESTS_KILL_MEMBERS_H

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEMBERS 6
#define PAGE 4096ul
#define FILE_AT 0x414142000000ul /* FILE, everywhere */
#define RING_PAGES 8

struct shared {
	volatile uint32_t reached; /* first: see mark() */
	volatile uint32_t stop, written;
	volatile uint32_t changed; /* a member found its own registers or memory changed */
	volatile int32_t pid[MEMBERS + 2];
	volatile uint64_t beats[MEMBERS], pages;
};

static struct shared *const shared = (struct shared *)FILE_AT;

static void nap(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static int open_event(uint64_t period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.inherit = !period,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = 0xff,
		.sample_stack_user = 512,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	/* Where the session has forgotten that it is an event, it is as any descriptor without data. */
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void *thread(void *arg)
{
	for (volatile int i = 0; i < 10000; i++)
		;
	return arg;
}

/* In registers and on the stack: whether they are what this function left there. */
static bool is_mine(uint64_t seed)
{
	uint64_t word[64], sum = 0, again = 0;

	for (unsigned i = 0; i < 64; i++)
		sum += word[i] = seed = seed * 6364136223846793005 + 1;
	__asm__ volatile("" ::: "memory");
	for (unsigned i = 0; i < 64; i++)
		again += word[i];
	return sum == again;
}

static void run_child(bool executes)
{
	pid_t pid = fork();

	if (!pid) {
		if (executes)
			execl("/bin/true", "true", NULL);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static volatile long watched;

/* An event that was written over may signal its thread all the time, which then comes to nothing else. */
static void end_if_stopped(int signo)
{
	if (shared->stop)
		_exit(0);
}

/* A breakpoint, a clock or instructions, with records of all kinds. Of its own task they signal it. */
static int open_other(int kind, pid_t pid, void **ring)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = kind == 0   ? PERF_TYPE_BREAKPOINT
			: kind == 1 ? PERF_TYPE_SOFTWARE
				    : PERF_TYPE_HARDWARE,
		.config = kind == 1   ? PERF_COUNT_SW_TASK_CLOCK
			  : kind == 0 ? 0
				      : PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = kind == 0   ? 3
				 : kind == 1 ? 500000
					     : 20011,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
			       PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
		.bp_type = kind == 0 ? HW_BREAKPOINT_RW : 0,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.comm = 1,
		.task = 1,
		.context_switch = 1,
		.sample_id_all = 1,
		.wakeup_events = 1,
	};
	struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
	int fd;

	if (kind == 0) {
		attr.bp_addr = (uintptr_t)&watched;
		attr.bp_len = 8;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
	fcntl(fd, F_SETSIG, SIGRTMIN);
	fcntl(fd, F_SETOWN_EX, &owner);
	fcntl(fd, F_SETFL, O_NONBLOCK | (pid ? 0 : O_ASYNC));
	*ring = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return fd;
}

static void use_others(int nr)
{
	struct pollfd p[4] = {{.events = POLLIN}, {.events = POLLIN}, {.events = POLLIN}, {.events = POLLIN}};
	struct epoll_event e = {.events = EPOLLIN};
	int ep = epoll_create1(0);
	void *ring[4];

	for (int i = 0; i < 4; i++) {
		p[i].fd = open_other(i % 3, nr == 4 ? 0 : shared->pid[i], &ring[i]);
		epoll_ctl(ep, EPOLL_CTL_ADD, p[i].fd, &e);
	}
	for (int i = 0; i < 2000; i++)
		watched += i;
	poll(p, 4, 1);
	epoll_wait(ep, &e, 1, 1);
	for (int i = 0; i < 4; i++) {
		uint64_t period = 5003;
		char values[256];

		ioctl(p[i].fd, PERF_EVENT_IOC_PERIOD, &period);
		ioctl(p[i].fd, PERF_EVENT_IOC_SET_OUTPUT, p[(i + 1) % 4].fd);
		ioctl(p[i].fd, PERF_EVENT_IOC_REFRESH, 2);
		(void)!read(p[i].fd, values, sizeof(values));
		close(p[i].fd);
		if (ring[i] != MAP_FAILED)
			munmap(ring[i], 2 * PAGE);
	}
	close(ep);
}

static void __attribute__((noreturn)) member(int nr)
{
	int count = open_event(0), sample = open_event(1009), more;
	struct perf_event_mmap_page *ring;
	char values[256];
	pthread_t t;

	if (count < 0 || sample < 0)
		exit(1); /* one that is begun in the middle of it may find no room */
	ring = mmap(NULL, (1 + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, sample, 0);
	signal(SIGRTMIN, end_if_stopped);
	shared->pid[nr] = getpid();
	while (!shared->stop) {
		for (volatile int i = 0; i < 20000; i++)
			;
		(void)!read(count, values, sizeof(values));
		if (!is_mine(shared->beats[nr]))
			shared->changed = 1;
		if (ring != MAP_FAILED)
			ring->data_tail = ring->data_head;
		if (nr == 0)
			run_child(true);
		if (nr == 1)
			run_child(false);
		if (nr == 2 && !pthread_create(&t, NULL, thread, NULL))
			pthread_join(t, NULL);
		if (nr > 3)
			use_others(nr);
		if (nr == 3) {
			more = open_event(0);
			ioctl(more, PERF_EVENT_IOC_DISABLE, 0);
			close(more);
		}
		shared->beats[nr]++;
	}
	_exit(0);
}

#endif
