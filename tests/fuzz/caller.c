/*
 * A random caller of everything that has to do with events, which samples all the while.
 *
 *   caller SEED STEPS [LOG]     random steps; each is written to LOG before it is done
 *   caller replay LOG           does the steps of a log again
 *
 * In the environment: FUZZ_RESULTS=FILE writes there what each step answered, and keeps to steps that answer the same
 * on every kernel. FUZZ_BROKEN=1 takes something harmless for wrong, to test what looks for the cause.
 *
 * One step is one line, "verb a b c d": four numbers that mean something for any state the process may be in, so that
 * any subset of a log's lines is a log (tests/fuzz/shrink uses that). Ends with 0, or 1 and a line that says what is
 * wrong: a torn record, a count that goes back, an answer that no kernel gives, something that is left when all is
 * closed. A crash or a hang speaks for itself.
 */
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
#include "tests/fuzz/records.h"
#include "tests/fuzz/room.h"
#include "tests/fuzz/work.h"

#define FDS 24
#define CHILDREN 6
#define LIVE_FORKS 2 /* depth */
#define SIGNALS_QUEUED 4096 /* of all processes of the user: they must not be in want of them because of us */
#define SIGNALLING 2 /* slots whose events may send signals: more of them leave no time for anything else */
#define SIGNALS_APART 10000 /* instructions */
/* at least between two samples of a clock: several that signal leave no time for anything else */
#define CLOCK_NS 1000000

struct slot {
	int fd; /* 0: none */
	struct perf_event_attr attr;
	uint64_t last, resets; /* its count when it was read last, and how many resets there had been */
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
static uint64_t *resets; /* made by any process so far */
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

/* ---- opening ---- */

/* Its overflows come faster than a handler of their signal ends: the program would not get on. */
static int signals_without_end(const struct perf_event_attr *a)
{
	return a->type != PERF_TYPE_SOFTWARE && a->type != PERF_TYPE_BREAKPOINT && !a->freq && a->sample_period < SIGNALS_APART;
}

static void fill_attr(struct perf_event_attr *a, uint32_t what, uint32_t bits, uint32_t how)
{
	static const uint64_t periods[] = {1, 7, 100, 1000, 10007, 100003, 1ul << 40, 1ul << 62};
	static const uint64_t sample_bits[] = {
		PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR, PERF_SAMPLE_READ, PERF_SAMPLE_CALLCHAIN,
		PERF_SAMPLE_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_RAW,
		PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_WEIGHT,
		PERF_SAMPLE_DATA_SRC, PERF_SAMPLE_TRANSACTION, PERF_SAMPLE_REGS_INTR, 1u << 21, 1u << 22, 1u << 23};

	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	switch (what % 6) {
	case 0:
	case 1:
		a->type = PERF_TYPE_HARDWARE;
		a->config = ((const uint64_t[]){PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES})[what / 6 % 3];
		break;
	case 2:
		a->type = PERF_TYPE_RAW;
		a->config = 1 + what / 6 % 9;
		break;
	case 3:
	case 4:
		a->type = PERF_TYPE_SOFTWARE;
		a->config = what / 6 % 10;
		break;
	default:
		a->type = PERF_TYPE_BREAKPOINT;
		a->bp_type = what / 6 % 3 == 0 ? HW_BREAKPOINT_X : what / 6 % 3 == 1 ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
		a->bp_addr = a->bp_type == HW_BREAKPOINT_X ? (uintptr_t)recurse : (uintptr_t)&watched;
		a->bp_len = a->bp_type == HW_BREAKPOINT_X ? sizeof(long) : 1u << what / 18 % 4;
		break;
	}
	a->exclude_kernel = bits % 16 != 15 || results;
	a->exclude_hv = 1;
	a->disabled = bits >> 4 & 1;
	a->inherit = bits >> 5 & 1;
	a->enable_on_exec = (bits >> 6 & 3) == 3;
	a->mmap = a->mmap2 = bits >> 8 & 1;
	a->comm = a->comm_exec = bits >> 9 & 1;
	a->task = bits >> 10 & 1;
	a->mmap_data = bits >> 11 & 1;
	a->context_switch = bits >> 12 & 1;
	a->inherit_stat = bits >> 13 & 1;
	a->write_backward = (bits >> 14 & 7) == 7;
	a->pinned = (bits >> 17 & 3) == 3;
	a->watermark = bits >> 19 & 1;
	a->wakeup_events = bits >> 20 & 7;
	a->precise_ip = a->type == PERF_TYPE_SOFTWARE || a->type == PERF_TYPE_BREAKPOINT ? 0 : bits >> 23 & 3;
	a->remove_on_exec = (bits >> 21 & 7) == 7 && !a->enable_on_exec;
	a->sigtrap = (bits >> 25 & 7) == 7 && a->remove_on_exec;
	a->exclude_callchain_kernel = 1;
	a->sample_id_all = 1;
	a->read_format = bits >> 25 & 31;
	a->sample_type = PERF_SAMPLE_IDENTIFIER;
	a->sample_period = periods[how % 8];
	if (how >> 3 & 1) {
		a->freq = 1;
		a->sample_freq = how >> 4 & 1 && a->type != PERF_TYPE_SOFTWARE ? 4000 : 99;
	}
	if (how >> 5 & 1)
		a->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	for (uint32_t i = 0, h = how >> 6; i < 3; i++, h /= 32)
		if (h % 32 < sizeof(sample_bits) / sizeof(*sample_bits))
			a->sample_type |= sample_bits[h % 32];
	a->branch_sample_type = PERF_SAMPLE_BRANCH_USER | (bits >> 30 & 1 ? PERF_SAMPLE_BRANCH_CALL_STACK : PERF_SAMPLE_BRANCH_ANY);
	a->sample_regs_user = a->sample_regs_intr = 0xff0fff;
	a->sample_stack_user = 8u << how % 8;
	if ((how >> 28) % 8 == 7)
		a->sample_period = 0;
	if (a->sample_period && !a->freq && a->sample_period < CLOCK_NS && a->type == PERF_TYPE_SOFTWARE)
		a->sample_period = CLOCK_NS;
	a->sigtrap &= !signals_without_end(a);
}

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

static void forget(struct slot *s)
{
	if (s->page)
		munmap(s->page, 4096 + s->size);
	if (s->fd)
		close(s->fd);
	memset(s, 0, sizeof(*s));
}

/* Clocks, faults and other software events; breakpoints no more than the processor has. */
static uint32_t portable_kind(uint32_t a)
{
	return a % FDS < 2 ? a / FDS / 6 * 6 + 5 : a / FDS / 6 * 6 + 3;
}

static void do_open(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	struct slot *s = &slot[a % FDS];
	pid_t pid = d % 8 == 7 ? -1 : d % 8 >= 5 && !results ? child[d / 8 % CHILDREN] : 0;
	int cpu = pid == -1 ? (int)(d >> 6) % 2 : (d >> 6) % 8 == 7 ? (int)(d >> 9) % 3 : -1;
	struct slot *leader = &slot[(d >> 12) % FDS];
	int group = (d >> 20) % 4 == 3 && leader->fd ? leader->fd : -1;

	forget(s);
	fill_attr(&s->attr, results ? portable_kind(a) : a / FDS, b, c);
	s->attr.sigtrap &= !pid; /* a program that a child has executed would die of it */
	s->fd = (int)syscall(SYS_perf_event_open, &s->attr, pid, cpu, group, d >> 24 & 8);
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

/* ---- the other verbs ---- */

static void do_ioctl(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	static const unsigned long commands[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_REFRESH, PERF_EVENT_IOC_RESET, PERF_EVENT_IOC_PERIOD,
		PERF_EVENT_IOC_SET_OUTPUT, PERF_EVENT_IOC_ID, PERF_EVENT_IOC_PAUSE_OUTPUT, PERF_EVENT_IOC_SET_FILTER, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 0x1234};
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
		__atomic_add_fetch(resets, 1, __ATOMIC_SEQ_CST);
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
		__atomic_add_fetch(resets, 1, __ATOMIC_SEQ_CST);
}

static void do_read(uint32_t a, uint32_t b)
{
	struct slot *s = choose(a % FDS, OPEN);
	uint64_t buf[512], before = __atomic_load_n(resets, __ATOMIC_SEQ_CST);
	ssize_t n;

	if (!s->fd)
		return;
	n = read(s->fd, buf, b % 4 ? sizeof(buf) : b % 100);
	if (n < 0 && errno != ENOSPC && errno != ECHILD)
		wrong("read answers", (uint64_t)errno, b);
	if (n < 8 || (s->attr.read_format & PERF_FORMAT_GROUP))
		return;
	if (buf[0] < s->last && s->resets == __atomic_load_n(resets, __ATOMIC_SEQ_CST))
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
		close(s->fd);
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
	}
}

/* ---- where steps come from ---- */

static uint64_t seed;

static uint32_t pick(void)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return (uint32_t)(seed >> 32);
}

static const char *random_verb(void)
{
	static const char *const verbs[] = {"open", "open", "open", "ioctl", "ioctl", "ioctl", "read", "read", "mmap", "mmap",
					    "drain", "drain", "drain", "poll", "signal", "fork", "kill", "kill", "thread",
					    "close", "enable", "work", "work", "work", "work", "work"};

	return verbs[pick() % (sizeof(verbs) / sizeof(*verbs))];
}

/* Notifications of events that were sent before exec kill a program that does not expect them. */
static void become_another(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGIO);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_BLOCK, &set, NULL);
	execl("/proc/self/exe", self, "work", (char *)NULL);
}

/* A child does steps of its own, then ends, or becomes another program first. */
static void run_children(uint32_t a, uint32_t b)
{
	seed = a ^ (uint64_t)b << 32;
	for (uint32_t i = 0; i < b % 64; i++) {
		const char *verb = random_verb();
		uint32_t p[4] = {pick(), pick(), pick(), pick()};

		step(verb, p[0], p[1], p[2], p[3]);
	}
	if (a % 5 == 0)
		become_another();
	if (a % 7 == 0)
		for (int i = 0; i < 500; i++)
			work(pick(), pick());
}

static void run_random(uint32_t steps, FILE *log)
{
	for (uint32_t i = 0; i < steps && !failures; i++) {
		const char *verb = random_verb();
		uint32_t p[4] = {pick(), pick(), pick(), pick()};

		if (log) {
			fprintf(log, "%s %u %u %u %u\n", verb, p[0], p[1], p[2], p[3]);
			fflush(log);
		}
		step(verb, p[0], p[1], p[2], p[3]);
	}
}

static void run_log(FILE *log)
{
	char verb[16];
	uint32_t a, b, c, d;

	while (!failures && fscanf(log, "%15s %u %u %u %u", verb, &a, &b, &c, &d) == 5)
		step(verb, a, b, c, d);
}

static void clean_up(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		if (child[i])
			kill(child[i], SIGKILL);
		if (child[i])
			waitpid(child[i], NULL, 0);
	}
	for (int i = 0; i < FDS; i++) {
		do_drain((uint32_t)i);
		forget(&slot[i]);
	}
}

/* ---- what is left ---- */

static void check_room(struct room before)
{
	struct room now = room_now();

	if (now.fds != before.fds)
		wrong("descriptors are left", (uint64_t)now.fds, (uint64_t)before.fds);
	if (now.pages < before.pages && !results)
		wrong("less room for rings than before", (uint64_t)now.pages, (uint64_t)before.pages);
}

int main(int argc, char **argv)
{
	FILE *log = NULL;
	struct rlimit pending = {SIGNALS_QUEUED, SIGNALS_QUEUED};
	struct room before;

	setrlimit(RLIMIT_SIGPENDING, &pending);
	self = argv[0];
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	signal(SIGRTMIN + 3, on_signal);
	signal(SIGIO, on_signal);
	signal(SIGTRAP, on_signal);
	resets = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	known = mmap(NULL, KNOWN_IDS * sizeof(*known), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (resets == MAP_FAILED || (void *)known == MAP_FAILED)
		return 2;
	if (argc > 1 && !strcmp(argv[1], "work")) {
		for (uint32_t i = 0; i < 20; i++)
			work(i, 1000 + i);
		return 0;
	}
	if (argc < 3)
		return 2;
	before = room_now();
	broken = getenv("FUZZ_BROKEN") != NULL;
	if (getenv("FUZZ_RESULTS"))
		results = fopen(getenv("FUZZ_RESULTS"), "we");
	if (!strcmp(argv[1], "replay")) {
		log = fopen(argv[2], "re");
		if (!log)
			return 2;
		run_log(log);
	} else {
		seed = strtoul(argv[1], NULL, 0);
		log = argc > 3 ? fopen(argv[3], "we") : NULL;
		run_random((uint32_t)strtoul(argv[2], NULL, 0), log);
	}
	clean_up();
	if (epoll_fd >= 0)
		close(epoll_fd);
	if (log)
		fclose(log);
	if (results)
		fclose(results);
	check_room(before);
	printf("%s: %u records\n", failures ? "failed" : "ok", records);
	return failures != 0;
}
