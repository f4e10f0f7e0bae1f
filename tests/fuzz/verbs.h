/* What the random caller does: one function for each verb, and the state that they share. */
#ifndef TESTS_FUZZ_VERBS_H
#define TESTS_FUZZ_VERBS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/fuzz/attr.h"
#include "tests/fuzz/of_2009.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/work.h"

#define FDS 24
#define CHILDREN 6
#define LIVE_FORKS 2 /* depth */
#define SIGNALS_QUEUED 4096 /* of all processes of the user: they must not be in want of them because of us */
#define SIGNALLING 2 /* slots whose events may send signals: more of them leave no time for anything else */

struct slot {
	int fd; /* 0: none */
	struct perf_event_attr attr;
	uint64_t last, resets; /* its count when it was read last, and how many resets were over then */
	struct perf_event_mmap_page *page;
	uint64_t size;	 /* of the data */
	int may_write;	 /* on the page */
	int signals;	 /* its overflows, perhaps */
	int hasty;	 /* by its present period, signals_without_end() */
	uint64_t id;
};

static struct slot slot[FDS];
static pid_t child[CHILDREN];
static int depth, epoll_fd = -1;
static const char *self;
static volatile int signals;
static uint64_t *resets; /* by any process: begun, over; one that is killed in between is never over */
static unsigned records, failures, steps_done;
static FILE *results; /* NULL: not asked for */
static int broken;

static void wrong(const char *what, uint64_t a, uint64_t b)
{
	printf("wrong: %s (%lu, %lu) in process %d\n", what, (unsigned long)a, (unsigned long)b, (int)getpid());
	fflush(stdout);
	failures++;
}

/* What a step of the first process answered: 0 or above, or -1 with errno. */
static void answered(const char *what, long ret)
{
	if (results && !depth)
		fprintf(results, "%u %s %d\n", steps_done, what, ret < 0 ? errno : 0);
}

static void on_signal(int signo)
{
	signals++;
	(void)signo;
}

static void *thread_main(void *arg)
{
	for (int i = 0; i < 6; i++)
		work((uint32_t)(uintptr_t)arg >> i, (uint32_t)(uintptr_t)arg + 1000u);
	return NULL;
}

/* ---- the verbs ---- */

enum wanted { OPEN, WITHOUT_RING, WITH_RING };

/* From slot a on the first that is as wanted, else slot a. */
static struct slot *choose(uint32_t a, enum wanted wanted)
{
	for (uint32_t i = 0; i < FDS; i++) {
		struct slot *s = &slot[(a + i) % FDS];

		if (s->fd && (wanted == OPEN || (wanted == WITH_RING) == !!s->page))
			return s;
	}
	return &slot[a % FDS];
}

static void close_event(int fd)
{
	if (close(fd))
		wrong("an event is not closed", (uint64_t)errno, (uint64_t)fd);
}

static void forget(struct slot *s)
{
	if (s->page)
		munmap(s->page, 4096 + s->size);
	if (s->fd)
		close_event(s->fd);
	memset(s, 0, sizeof(*s));
}

/* Clocks, faults and other software events; breakpoints no more than the processor has. */
static uint32_t portable_kind(uint32_t a)
{
	return a % FDS < 2 ? a / FDS / 6 * 6 + 5 : a / FDS / 6 * 6 + 3;
}

/* The cgroup that all are in: the root of the second version, or of the first one's perf_event. -1: there is none. */
static int cgroup_open(void)
{
	static int fd;

	if (!fd)
		fd = open("/sys/fs/cgroup/perf_event", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd ? fd : -1;
}

static void do_open(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	struct slot *s = &slot[a % FDS];
	pid_t pid = d % 8 == 7 ? -1 : d % 8 >= 5 && !results ? child[d / 8 % CHILDREN] : 0;
	int cpu = pid == -1 ? (int)(d >> 6) % 2 : (d >> 6) % 8 == 7 ? (int)(d >> 9) % 3 : -1;
	struct slot *leader = &slot[(d >> 12) % FDS];
	int group = (d >> 20) % 4 == 3 && leader->fd ? leader->fd : -1;
	unsigned long flags = d >> 24 & 8;

	if (d >> 28 == 15 && !results && cgroup_open() > 0) {
		pid = cgroup_open();
		cpu = (int)(d >> 9) % 2;
		flags |= PERF_FLAG_PID_CGROUP;
	}
	forget(s);
	fill_attr(&s->attr, results ? portable_kind(a) : a / FDS, b, c, results != NULL);
	s->attr.sigtrap &= !pid; /* a program that a child has executed would die of it */
	s->fd = (int)syscall(SYS_perf_event_open, &s->attr, pid, cpu, group, flags);
	answered("open", s->fd);
	s->hasty = signals_without_end(&s->attr);
	if (s->fd < 0) {
		if (errno == ENOMEM || errno == ENFILE)
			wrong("no room for an event", (uint64_t)errno, 0);
		s->fd = 0;
		return;
	}
	if (s->fd == 0) { /* descriptor 0 was closed: never here */
		wrong("descriptor 0", 0, 0);
		return;
	}
	if (ioctl(s->fd, PERF_EVENT_IOC_ID, &s->id))
		wrong("no id", (uint64_t)errno, 0);
	known_add(s->id, &s->attr);
}

static void do_ioctl(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	static const unsigned long commands[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_REFRESH, PERF_EVENT_IOC_RESET,
		PERF_EVENT_IOC_PERIOD, PERF_EVENT_IOC_SET_OUTPUT, PERF_EVENT_IOC_ID, PERF_EVENT_IOC_PAUSE_OUTPUT,
		PERF_EVENT_IOC_SET_FILTER, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 0x1234};
	struct slot *s = choose(a % FDS, OPEN);
	unsigned long cmd = commands[b % 11], arg = c % 4 ? c % 2 : c;
	uint64_t value = 1ul << d % 24;
	struct perf_event_attr changed;
	int ret;

	if (!s->fd)
		return;
	if (cmd == PERF_EVENT_IOC_PERIOD || cmd == PERF_EVENT_IOC_ID)
		arg = (unsigned long)&value;
	if (cmd == PERF_EVENT_IOC_PERIOD && (s->attr.type == PERF_TYPE_SOFTWARE || s->attr.freq))
		value = s->attr.type == PERF_TYPE_SOFTWARE ? CLOCK_NS : 1000;
	else if (cmd == PERF_EVENT_IOC_PERIOD && (s->signals || s->attr.sigtrap))
		value += SIGNALS_APART;
	if (cmd == PERF_EVENT_IOC_PERIOD) {
		changed = s->attr;
		changed.sample_period = value;
		s->hasty = signals_without_end(&changed);
	}
	if (cmd == PERF_EVENT_IOC_SET_OUTPUT)
		arg = c % 5 ? (unsigned long)slot[c % FDS].fd : (unsigned long)-1;
	if (cmd == PERF_EVENT_IOC_RESET)
		__atomic_add_fetch(&resets[0], 1, __ATOMIC_SEQ_CST);
	if (cmd == PERF_EVENT_IOC_SET_FILTER)
		arg = (unsigned long)"x";
	if (cmd == PERF_EVENT_IOC_MODIFY_ATTRIBUTES) {
		changed = s->attr;
		changed.bp_addr += d % 4 * 8;
		arg = (unsigned long)&changed;
	}
	if (cmd == PERF_EVENT_IOC_SET_OUTPUT)
		known_odd(s->id);
	ret = ioctl(s->fd, cmd, arg);
	answered("ioctl", ret);
	if (ret && (errno == ENOSYS || errno == EINTR))
		wrong("ioctl answers", (uint64_t)errno, b % 11);
	if (cmd == PERF_EVENT_IOC_RESET)
		__atomic_add_fetch(&resets[1], 1, __ATOMIC_SEQ_CST);
}

static void do_read(uint32_t a, uint32_t b)
{
	struct slot *s = choose(a % FDS, OPEN);
	uint64_t buf[512], before = __atomic_load_n(&resets[1], __ATOMIC_SEQ_CST);
	ssize_t n;

	if (!s->fd)
		return;
	n = read(s->fd, buf, b % 4 ? sizeof(buf) : b % 100);
	if (n < 0 && errno != ENOSPC && errno != ECHILD)
		wrong("read answers", (uint64_t)errno, b);
	if (n < 8 || (s->attr.read_format & PERF_FORMAT_GROUP))
		return;
	if (buf[0] < s->last && s->resets == __atomic_load_n(&resets[0], __ATOMIC_SEQ_CST))
		wrong("a count went back", buf[0], s->last);
	s->last = buf[0];
	s->resets = before;
}

static void do_mmap(uint32_t a, uint32_t b, uint32_t c)
{
	struct slot *s = choose(a % FDS, WITHOUT_RING);
	uint64_t size = b % 10 == 9 ? b % 8 * 4096 : 4096ul << b % 5;
	int prot = c % 4 == 3 ? PROT_READ : PROT_READ | PROT_WRITE;
	void *p;

	if (!s->fd || s->page)
		return;
	if (!(prot & PROT_WRITE))
		known_odd(s->id);
	p = mmap(NULL, 4096 + size, prot, c % 16 == 15 ? MAP_PRIVATE : MAP_SHARED, s->fd, 0);
	answered("mmap", p == MAP_FAILED ? -1 : 0);
	if (p == MAP_FAILED)
		return;
	s->page = p;
	s->size = size;
	s->may_write = (prot & PROT_WRITE) && c % 16 != 15;
}

static void do_drain(uint32_t a)
{
	struct slot *s = choose(a % FDS, WITH_RING);
	const char *why;

	if (!s->page || !s->may_write || !s->size || !known_reader(s->id, getpid()))
		return;
	why = drain(s->page, s->size, &records);
	if (why)
		wrong(why, (uint64_t)(s - slot), s->page->data_head);
}

static void do_poll(uint32_t a, uint32_t b)
{
	struct pollfd p[FDS];
	struct epoll_event ev[4];
	struct timeval tv = {0, b % 2000};
	fd_set set;

	for (int i = 0; i < FDS; i++)
		p[i] = (struct pollfd){slot[i].fd ? slot[i].fd : -1, POLLIN, 0};
	switch (a % 3) {
	case 0:
		poll(p, FDS, (int)(b % 3));
		break;
	case 1:
		FD_ZERO(&set);
		for (int i = 0; i < FDS; i++)
			if (slot[i].fd)
				FD_SET(slot[i].fd, &set);
		select(FD_SETSIZE, &set, NULL, NULL, &tv);
		break;
	default:
		if (epoll_fd < 0)
			epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (slot[b % FDS].fd) {
			ev[0] = (struct epoll_event){EPOLLIN | (b & 64 ? EPOLLET : 0), {.fd = slot[b % FDS].fd}};
			epoll_ctl(epoll_fd, b & 128 ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, slot[b % FDS].fd, ev);
		}
		epoll_wait(epoll_fd, ev, 4, (int)(b % 2));
		break;
	}
}

static void do_async(uint32_t a, uint32_t b)
{
	struct slot *s = &slot[a % FDS];
	struct f_owner_ex owner = {b & 8 ? F_OWNER_TID : F_OWNER_PID, b & 16 ? (int)syscall(SYS_gettid) : getpid()};

	if (!s->fd || results || s->hasty)
		return;
	s->signals = 1;
	fcntl(s->fd, F_SETSIG, b & 1 ? SIGUSR1 : SIGRTMIN + 3);
	if (b & 4)
		fcntl(s->fd, F_SETOWN_EX, &owner);
	else
		fcntl(s->fd, F_SETOWN, owner.pid);
	fcntl(s->fd, F_SETFL, b & 2 && s < slot + SIGNALLING ? O_ASYNC : 0);
}

static void run_children(uint32_t a, uint32_t b);

static void do_fork(uint32_t a, uint32_t b)
{
	pid_t *c = &child[a % CHILDREN], parent = getpid();

	/* the kernel swaps the events of parent and child as it switches between them */
	if (depth >= LIVE_FORKS || results)
		return;
	if (*c) {
		kill(*c, SIGKILL);
		waitpid(*c, NULL, 0);
	}
	fflush(stdout);
	*c = fork();
	if (*c < 0) {
		if (errno != ENOSPC) /* the processor has too few breakpoints for the child too */
			wrong("no fork", (uint64_t)errno, 0);
		*c = 0;
		return;
	}
	if (*c)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it was killed before that */
		_exit(0);
	depth++;
	for (int i = 0; i < FDS; i++)
		slot[i].page = NULL; /* not inherited */
	memset(child, 0, sizeof(child));
	run_children(a, b);
	_exit(failures != 0);
}

static void do_kill(uint32_t a, uint32_t b)
{
	pid_t *c = &child[a % CHILDREN];
	int status;

	if (!*c)
		return;
	if (b % 2)
		kill(*c, b % 4 == 1 ? SIGKILL : SIGTERM);
	if (waitpid(*c, &status, b % 2 ? 0 : WNOHANG) == *c) {
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL && WTERMSIG(status) != SIGTERM)
			wrong("a child died of a signal", (uint64_t)WTERMSIG(status), 0);
		if (WIFEXITED(status) && WEXITSTATUS(status))
			wrong("a child failed", (uint64_t)WEXITSTATUS(status), 0);
		*c = 0;
	}
}

static void do_thread(uint32_t a)
{
	pthread_t thread[2];

	if (results) /* as in do_fork() */
		return;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, thread_main, (void *)(uintptr_t)(a + (uint32_t)i));
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

static void do_close(uint32_t a, uint32_t b)
{
	struct slot *s = &slot[a % FDS];
	int copy;

	if (!s->fd)
		return;
	if (b % 4 == 0) {
		copy = dup(s->fd);
		close_event(s->fd);
		s->fd = copy > 0 ? copy : 0;
	} else if (b % 4 == 1 && s->page) {
		munmap(s->page, 4096 + s->size);
		s->page = NULL;
	} else {
		forget(s);
	}
}

static void do_prctl(uint32_t a)
{
	answered("prctl", prctl(a % 2 ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE));
	for (int i = 0; broken && i < FDS; i++)
		if (slot[i].page && slot[i].size)
			wrong("broken on purpose", 0, 0);
}

static void do_history(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const char *why = results ? NULL : life_of_2009(a, b, c, d);

	if (why)
		wrong(why, a, b);
}

static void step(const char *verb, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	steps_done++;
	switch (verb[0]) {
	case 'o': do_open(a, b, c, d); break;
	case 'i': do_ioctl(a, b, c, d); break;
	case 'r': do_read(a, b); break;
	case 'm': do_mmap(a, b, c); break;
	case 'd': do_drain(a); break;
	case 'p': do_poll(a, b); break;
	case 's': do_async(a, b); break;
	case 'f': do_fork(a, b); break;
	case 'k': do_kill(a, b); break;
	case 't': do_thread(a); break;
	case 'c': do_close(a, b); break;
	case 'e': do_prctl(a); break;
	case 'w': work(a, b); break;
	case 'h': do_history(a, b, c, d); break;
	}
}

#endif
