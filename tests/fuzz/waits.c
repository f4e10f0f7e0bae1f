/*
 * Random sequences of what one can wait for an event with: epoll in all its forms and nested, poll, select, signals.
 * Whatever it prints is the same natively and under pcl; tests/fuzz/waits.sh compares.
 *
 *     waits SEED STEPS       prints steps and their answers
 *     waits replay LOG       does the steps of a log: any subset of the lines that another run printed
 *
 * A step is "VERB A B C D = ANSWER"; events, instances and the like are places in tables, so a line means the same
 * whatever stands before it. Wakeups happen only in steps, and nothing waits for time.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include "tests/abi/wakeup.h"

#define EVENTS 5u
#define INSTANCES 4u
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int event[EVENTS], instance[INSTANCES], pair[2];
static void *ring[EVENTS];
static struct told child;

static long answer_of(long ret)
{
	return ret < 0 ? -errno : ret;
}

#include "tests/fuzz/waits_signals.h"

/* ---- events ---- */

static void forget_ring(unsigned int e)
{
	if (ring[e])
		munmap(ring[e], 2 * 4096);
	ring[e] = NULL;
}

/* b: of which task, and whether the task's children are with it. */
static long do_open(const unsigned int *a)
{
	struct perf_attr attr = named_attr();
	unsigned int e = a[0] % EVENTS;

	if (event[e] >= 0)
		return 0;
	attr.inherit = a[1] % 4 == 2;
	event[e] = (int)perf_open(&attr, a[1] % 4 == 1 ? child.pid : 0, -1, -1, 0);
	return event[e] >= 0;
}

static long do_close(const unsigned int *a)
{
	unsigned int e = a[0] % EVENTS;
	long ret;

	forget_ring(e);
	ret = answer_of(close(event[e]));
	event[e] = -1;
	return ret;
}

static long do_map(const unsigned int *a)
{
	unsigned int e = a[0] % EVENTS;
	void *p;

	if (ring[e])
		return 0;
	p = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, event[e], 0);
	if (p == MAP_FAILED)
		return -errno;
	ring[e] = p;
	return 1;
}

static long do_unmap(const unsigned int *a)
{
	forget_ring(a[0] % EVENTS);
	return 0;
}

static long do_dup(const unsigned int *a)
{
	unsigned int from = a[0] % EVENTS, to = a[1] % EVENTS;

	if (event[to] >= 0)
		return 0;
	event[to] = dup(event[from]);
	return event[to] >= 0;
}

static long do_output(const unsigned int *a)
{
	int to = a[1] % 8 == 7 ? -1 : event[a[1] % EVENTS];

	return answer_of(ioctl(event[a[0] % EVENTS], PERF_EVENT_IOC_SET_OUTPUT, (long)to));
}

/* By way of a message to itself. */
static long do_send(const unsigned int *a)
{
	unsigned int to = a[1] % EVENTS;
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec io = {"", 1};
	char byte;
	struct iovec in = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

	if (event[to] >= 0)
		return 0;
	memcpy(CMSG_DATA(&control.head), &event[a[0] % EVENTS], sizeof(int));
	if (sendmsg(pair[0], &m, 0) < 0)
		return -errno;
	m.msg_iov = &in;
	if (recvmsg(pair[1], &m, 0) < 0)
		return -errno;
	memcpy(&event[to], CMSG_DATA(&control.head), sizeof(int));
	return 1;
}

/* ---- wakeups ---- */

static long do_wake(const unsigned int *a)
{
	for (unsigned int i = 0; i <= a[0] % 3; i++)
		change_name();
	return 0;
}

static long do_child_wakes(const unsigned int *a)
{
	told(&child, 'n');
	return 0;
}

/* The child ends, and there is a new one. */
static long do_child_ends(const unsigned int *a)
{
	told_end(&child);
	child = told_new();
	return 0;
}

/* ---- epoll ---- */

static const unsigned int interests[] = {EPOLLIN, EPOLLIN, EPOLLIN | EPOLLRDNORM, EPOLLOUT, 0, EPOLLIN | EPOLLPRI};
static const unsigned int modes[] = {0, 0, EPOLLET, EPOLLONESHOT, EPOLLET | EPOLLONESHOT, EPOLLEXCLUSIVE};

static long do_create(const unsigned int *a)
{
	int *ep = &instance[a[0] % INSTANCES];

	if (*ep >= 0)
		return 0;
	*ep = epoll_create1(0);
	return *ep >= 0;
}

static long do_destroy(const unsigned int *a)
{
	int *ep = &instance[a[0] % INSTANCES];
	long ret = answer_of(close(*ep));

	*ep = -1;
	return ret;
}

static long do_dup_instance(const unsigned int *a)
{
	int *to = &instance[a[1] % INSTANCES];

	if (*to >= 0)
		return 0;
	*to = dup(instance[a[0] % INSTANCES]);
	return *to >= 0;
}

static long control(int op, const unsigned int *a, int fd)
{
	struct epoll_event item = {interests[a[2] % COUNT(interests)] | modes[a[3] % COUNT(modes)], {.u32 = a[2]}};

	return answer_of(epoll_ctl(instance[a[0] % INSTANCES], op, fd, &item));
}

static long do_add(const unsigned int *a)
{
	return control(EPOLL_CTL_ADD, a, event[a[1] % EVENTS]);
}

static long do_mod(const unsigned int *a)
{
	return control(EPOLL_CTL_MOD, a, event[a[1] % EVENTS]);
}

static long do_del(const unsigned int *a)
{
	return control(EPOLL_CTL_DEL, a, event[a[1] % EVENTS]);
}

static long do_add_instance(const unsigned int *a)
{
	return control(EPOLL_CTL_ADD, a, instance[a[1] % INSTANCES]);
}

static long do_mod_instance(const unsigned int *a)
{
	return control(EPOLL_CTL_MOD, a, instance[a[1] % INSTANCES]);
}

static long do_del_instance(const unsigned int *a)
{
	return control(EPOLL_CTL_DEL, a, instance[a[1] % INSTANCES]);
}

static int compare(const void *a, const void *b)
{
	const struct epoll_event *x = a, *y = b;

	return (x->data.u32 > y->data.u32) - (x->data.u32 < y->data.u32);
}

/* In which order an instance reports what is level triggered is not the host's. */
static long wait_on(int ep, unsigned int max, int ms)
{
	struct epoll_event item[8];
	int n = epoll_wait(ep, item, (int)max, ms);

	if (n > 0)
		qsort(item, (size_t)n, sizeof(*item), compare);
	for (int i = 0; i < n; i++)
		printf("%#x:%u ", item[i].events, item[i].data.u32);
	return answer_of(n);
}

static long do_wait(const unsigned int *a)
{
	return wait_on(instance[a[0] % INSTANCES], 8, a[2] % 8 ? 0 : 1);
}

static long do_fork_wait(const unsigned int *a)
{
	int status = 0, pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		printf("%ld ", do_wait(a));
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

/* ---- poll and select ---- */

/* Of the events whose bit is in a[0]. */
static long do_poll(const unsigned int *a)
{
	struct pollfd fds[EVENTS];
	unsigned int n = 0;
	int ret;

	for (unsigned int i = 0; i < EVENTS; i++)
		if (event[i] >= 0 && a[0] >> i & 1)
			fds[n++] = (struct pollfd){event[i], a[1] % 4 ? POLLIN : POLLOUT, 0};
	ret = poll(fds, n, a[2] % 8 ? 0 : 1);
	for (unsigned int i = 0; i < n; i++)
		printf("%#x ", (unsigned int)fds[i].revents);
	return answer_of(ret);
}

static long do_poll_instance(const unsigned int *a)
{
	struct pollfd p = {instance[a[0] % INSTANCES], POLLIN, 0};
	int ret = poll(&p, 1, 0);

	printf("%#x ", (unsigned int)p.revents);
	return answer_of(ret);
}

static long do_select(const unsigned int *a)
{
	fd_set in, out, except;
	struct timeval none = {0, 0};
	int ret;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&except);
	for (unsigned int i = 0; i < EVENTS; i++)
		if (event[i] >= 0 && a[0] >> i & 1) {
			FD_SET(event[i], &in);
			FD_SET(event[i], &out);
			FD_SET(event[i], &except);
		}
	ret = select(FD_SETSIZE, &in, &out, &except, &none);
	for (unsigned int i = 0; i < EVENTS; i++)
		if (event[i] >= 0 && a[0] >> i & 1)
			printf("%d%d%d ", !!FD_ISSET(event[i], &in), !!FD_ISSET(event[i], &out),
			       !!FD_ISSET(event[i], &except));
	return answer_of(ret);
}

/* ---- steps ---- */

static const struct verb {
	const char *name;
	unsigned int often; /* of all */
	long (*run)(const unsigned int *a);
	unsigned int set; /* in which it is: 0 both, 1 epoll, 2 signals */
} verbs[] = {
	{"open", 8, do_open, 0},
	{"close", 2, do_close, 0},
	{"map", 10, do_map, 0},
	{"unmap", 1, do_unmap, 0},
	{"dup", 2, do_dup, 0},
	{"output", 1, do_output, 0},
	{"send", 1, do_send, 0},
	{"wake", 16, do_wake, 0},
	{"child_wakes", 3, do_child_wakes, 0},
	{"child_ends", 1, do_child_ends, 0},
	{"create", 4, do_create, 1},
	{"destroy", 1, do_destroy, 1},
	{"dup_instance", 1, do_dup_instance, 1},
	{"add", 10, do_add, 1},
	{"mod", 5, do_mod, 1},
	{"del", 2, do_del, 1},
	{"add_instance", 2, do_add_instance, 4},
	{"mod_instance", 1, do_mod_instance, 4},
	{"del_instance", 1, do_del_instance, 4},
	{"wait", 16, do_wait, 1},
	{"fork_wait", 1, do_fork_wait, 1},
	{"poll", 3, do_poll, 0},
	{"poll_instance", 2, do_poll_instance, 4},
	{"select", 1, do_select, 0},
	{"async", 10, do_async, 2},
	{"signal", 8, do_signal, 2},
	{"owner", 8, do_owner, 2},
	{"take", 3, do_take, 2},
	{"read_signals", 2, do_read_signals, 2},
	{"handle", 2, do_handle, 2},
	{"pending", 2, do_pending, 2},
};

static unsigned long random_state;

static unsigned int rnd(void)
{
	random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned int)(random_state >> 33);
}

static void step(const struct verb *v, const unsigned int *a)
{
	long ret;

	printf("%s %u %u %u %u = ", v->name, a[0], a[1], a[2], a[3]);
	ret = v->run(a);
	printf("%ld\n", ret);
	fflush(stdout);
}

static void random_step(unsigned int sets)
{
	unsigned int a[4], left;

	for (;;) {
		const struct verb *v = &verbs[rnd() % COUNT(verbs)];

		left = rnd() % 16;
		for (int i = 0; i < 4; i++)
			a[i] = rnd() % 512;
		if (left >= v->often || (v->set && !(v->set & sets)))
			continue;
		step(v, a);
		return;
	}
}

static int replay(const char *name)
{
	FILE *log = fopen(name, "r");
	char line[512], verb[32];
	unsigned int a[4];

	if (!log)
		return 2;
	while (fgets(line, sizeof(line), log)) {
		if (sscanf(line, "%31s %u %u %u %u", verb, &a[0], &a[1], &a[2], &a[3]) != 5)
			continue;
		for (unsigned int i = 0; i < COUNT(verbs); i++)
			if (!strcmp(verbs[i].name, verb))
				step(&verbs[i], a);
	}
	fclose(log);
	return 0;
}

static void begin(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t set = all_signals();

	child = told_new();
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		exit(2);
	for (unsigned int i = 0; i < EVENTS; i++)
		event[i] = -1;
	for (unsigned int i = 0; i < INSTANCES; i++)
		instance[i] = -1;
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigfillset(&action.sa_mask);
	for (int s = 1; s < SIGRTMAX; s++)
		if (sigismember(&set, s) == 1)
			sigaction(s, &action, NULL);
}

int main(int argc, char **argv)
{
	begin();
	if (argc == 3 && !strcmp(argv[1], "replay"))
		return replay(argv[2]);
	if (argc < 3)
		return 2;
	random_state = strtoul(argv[1], NULL, 0);
	for (unsigned int i = 0; i < 8; i++)
		rnd();
	for (long left = strtol(argv[2], NULL, 0); left > 0; left--)
		random_step(argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 0) : 7);
	told_end(&child);
	return 0;
}
