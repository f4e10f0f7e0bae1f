/*
 * Pid namespaces that a program makes: which numbers it and its children see, who can signal whom, how the first
 * process of one ends, and what perf events say of tasks in them. Skips where the host does not let it make any.
 * cflags: -pthread
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIP 77

static pid_t start(unsigned long long flags, pid_t wanted)
{
	struct clone_args a = { .flags = flags, .exit_signal = SIGCHLD };

	fflush(stdout);
	if (wanted) {
		a.set_tid = (unsigned long)&wanted;
		a.set_tid_size = 1;
	}
	return (pid_t)syscall(SYS_clone3, &a, sizeof(a));
}

/* Root needs no user namespace for it. */
static unsigned long long apart(void)
{
	return CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0);
}

static void show_end(const char *what, pid_t pid)
{
	int status = -1;
	pid_t got = waitpid(pid, &status, 0);

	printf("%s: waited %d, exit %d, signal %d\n", what, got == pid, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void in_namespace(const char *what, void (*first)(void))
{
	pid_t pid = start(apart(), 0);

	if (!pid) {
		first();
		fflush(stdout);
		_exit(3);
	}
	show_end(what, pid);
}

static void *thread_ids(void *arg)
{
	printf("thread: %d of %d\n", (int)gettid(), (int)getpid());
	return NULL;
}

static void ids(void)
{
	pthread_t thread;
	pid_t child;

	printf("first: %d, thread %d, parent %d\n", (int)getpid(), (int)gettid(), (int)getppid());
	pthread_create(&thread, NULL, thread_ids, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++) {
		child = start(0, 0);
		if (!child) {
			printf("child: %d, parent %d\n", (int)getpid(), (int)getppid());
			fflush(stdout);
			_exit(i);
		}
		show_end("child", child);
		printf("it was %d\n", (int)child);
	}
	child = start(0, 42);
	if (!child)
		_exit(getpid() == 42 ? 4 : 5);
	printf("wished for 42: %d\n", (int)child);
	show_end("with an id of its choice", child);
}

static void nested_first(void)
{
	printf("deeper: %d, parent %d\n", (int)getpid(), (int)getppid());
}

static void nested(void)
{
	pid_t pid = start(CLONE_NEWPID, 0);

	if (!pid) {
		nested_first();
		fflush(stdout);
		_exit(6);
	}
	show_end("deeper", pid);
	printf("it was %d here\n", (int)pid);
}

static pid_t sleeper(unsigned long long flags)
{
	pid_t pid = start(flags, 0);

	if (!pid)
		for (;;)
			pause();
	return pid;
}

static void signals(void)
{
	pid_t child = sleeper(0);

	printf("kill: %d, unknown: %d\n", kill(child, SIGTERM), kill(child + 1000, 0) ? errno : 0);
	show_end("killed", child);
	raise(SIGTERM); /* the first process has no handler for them: nothing happens */
	raise(SIGSEGV);
	printf("still here\n");
	for (int i = 0; i < 3; i++)
		sleeper(0);
}

static void fault(void)
{
	*(volatile int *)8 = 1;
}

static void kill_from_outside(void)
{
	pid_t pid = sleeper(apart());

	kill(pid, SIGTERM);
	kill(pid, SIGHUP);
	printf("SIGTERM from outside: %d\n", waitpid(pid, NULL, WNOHANG));
	kill(pid, SIGKILL);
	show_end("SIGKILL from outside", pid);
}

static void execute(void)
{
	execl("/proc/self/exe", "pid_namespaces", "--ids", (char *)NULL);
}

/* unshare(): the children are apart, the caller is not; after the death of the first one there can be no more. */
static void unshared(void)
{
	pid_t pid = fork(), child;

	if (pid) {
		show_end("unshare", pid);
		return;
	}
	if (unshare((int)apart()))
		_exit(1);
	child = start(0, 0);
	if (!child)
		_exit(getpid());
	show_end("first of unshare", child);
	child = start(0, 0);
	if (!child)
		_exit(getpid());
	printf("second: %s\n", child < 0 ? strerror(errno) : "made");
	fflush(stdout);
	_exit(0);
}

static int open_ns(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void join(void)
{
	pid_t first = sleeper(apart()), pid, child;
	int user = geteuid() ? open_ns(first, "user") : -1, ns = open_ns(first, "pid");

	pid = start(0, 0);
	if (!pid) {
		if ((user >= 0 && setns(user, CLONE_NEWUSER)) || setns(ns, 0))
			_exit(1);
		child = start(0, 0);
		if (!child)
			_exit(getpid() + 10 * getppid());
		show_end("joined", child);
		fflush(stdout);
		_exit(0);
	}
	show_end("setns", pid);
	kill(first, SIGKILL);
	waitpid(first, NULL, 0);
}

/* ---- events ---- */

struct watched {
	int fd;
	struct perf_event_mmap_page *page;
};

static struct watched watch(pid_t pid, int cpu, int inherit)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
	struct watched w;

	attr.exclude_kernel = attr.comm = attr.task = attr.sample_id_all = 1;
	attr.inherit = inherit;
	attr.sample_type = PERF_SAMPLE_TID;
	w.fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (w.fd < 0) {
		printf("perf_event_open(%d): %s\n", pid > 0, strerror(errno));
		return w;
	}
	w.page = mmap(NULL, 2 * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, w.fd, 0);
	return w;
}

static const char *name_of(pid_t pid, pid_t outside)
{
	return pid == outside && outside > 3 ? "its number outside"
	       : pid == 0		     ? "nobody"
	       : pid == 1		     ? "first"
	       : pid == 2		     ? "second"
	       : pid == 3		     ? "third"
					     : "other";
}

static void show_records(const char *what, struct watched w, pid_t outside)
{
	const char *data = (char *)w.page + sysconf(_SC_PAGESIZE);

	if (w.fd < 0 || w.page == MAP_FAILED)
		return;
	printf("%s:", what);
	for (__u64 at = 0; at < w.page->data_head;) {
		const struct perf_event_header *h = (const void *)(data + at);
		const __u32 *body = (const void *)(h + 1), *trailer = (const void *)((const char *)h + h->size - 8);

		if (h->type == PERF_RECORD_COMM)
			printf(" COMM %s, by %s;", name_of((pid_t)body[0], outside),
			       name_of((pid_t)trailer[0], outside));
		else if (h->type == PERF_RECORD_FORK)
			printf(" FORK %s;", name_of((pid_t)body[1], outside)); /* the parent */
		else if (h->type == PERF_RECORD_EXIT)
			printf(" EXIT %s, parent %s;", name_of((pid_t)body[0], outside),
			       body[1] > 3 ? "more" : name_of((pid_t)body[1], 0));
		at += h->size;
	}
	printf("\n");
}

static int go[2];

/* The first process, watched from outside too: names itself and its child. */
static void watched_first(void)
{
	struct watched own = watch(0, -1, 0), childs;
	pid_t child;
	char c;

	if (read(go[0], &c, 1) != 1)
		_exit(1);
	prctl(PR_SET_NAME, "first");
	child = start(0, 0);
	if (!child) {
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		prctl(PR_SET_NAME, "second");
		_exit(0);
	}
	childs = watch(child, -1, 0);
	if (write(go[1], "x", 1) != 1)
		_exit(1);
	show_end("watched child", child);
	show_records("own event", own, -1);
	show_records("child's event", childs, -1);
	printf("no such: %d\n", watch(child + 1000, -1, 0).fd);
}

static void events(void)
{
	struct watched w;
	cpu_set_t one;
	pid_t pid;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pipe(go))
		return;
	pid = start(apart(), 0);
	if (!pid) {
		watched_first();
		fflush(stdout);
		_exit(0);
	}
	w = watch(pid, sched_getcpu(), 1);
	if (write(go[1], "x", 1) != 1)
		return;
	show_end("watched", pid);
	show_records("event from outside", w, pid);
}

int main(int argc, char **argv)
{
	pid_t probe;

	setbuf(stdout, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(60);
	if (argc > 1) {
		ids();
		return 7;
	}
	probe = start(apart(), 0);
	if (!probe)
		_exit(0);
	if (probe < 0) {
		printf("the host makes no pid namespaces: %s\n", strerror(errno));
		return SKIP;
	}
	waitpid(probe, NULL, 0);
	in_namespace("ids", ids);
	in_namespace("nested", nested);
	in_namespace("signals", signals);
	in_namespace("fault", fault);
	in_namespace("abort", abort);
	kill_from_outside();
	in_namespace("execute", execute);
	unshared();
	join();
	events();
	return 0;
}
