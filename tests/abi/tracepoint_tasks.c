/*
 * Tracepoints of what happens to tasks: births, programs, names, ends, signals. Fields are found by the format files.
 * covers: PERF_TYPE_TRACEPOINT
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "tests/abi/tracepoint.h"

/* Where a field is in the records, and its size; false: there is none. */
static int field_at(const char *tracepoint, const char *name, int *offset, int *size, int *is_loc)
{
	char path[128], line[256], want[64], bounded[64];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/format", tracepoint);
	snprintf(want, sizeof(want), " %s;", name);
	snprintf(bounded, sizeof(bounded), " %s[", name);
	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, want);

		if (!at)
			at = strstr(line, bounded);
		if (!at || !strstr(line, "offset:"))
			continue;
		*is_loc = strstr(line, "__data_loc") != NULL;
		sscanf(strstr(at, "offset:"), "offset:%d;\tsize:%d;", offset, size);
		found = 1;
	}
	if (f)
		fclose(f);
	return found;
}

/* A ring with samples of one tracepoint of a task. */
struct watched {
	const char *name;
	long fd;
	char *page;
	u64 at;
	char raw[4096]; /* of the record that was taken last */
	u64 misc;
};

static struct watched watch(const char *name)
{
	struct perf_attr a = trace_attr(name);
	struct watched w = {.name = name};

	a.sample_type = PERF_SAMPLE_RAW;
	a.sample_period = 1;
	a.disabled = 1;
	w.fd = trace_open(a, 0);
	w.page = mmap(NULL, TRACE_RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)w.fd, 0);
	expect(w.page != MAP_FAILED, 1);
	perf_ioctl(w.fd, PERF_EVENT_IOC_ENABLE, 0);
	return w;
}

static void unwatch(struct watched *w)
{
	munmap(w->page, TRACE_RING);
	close((int)w->fd);
}

static int take(struct watched *w)
{
	const struct perf_event_mmap_page *page = (const void *)w->page;
	const struct perf_event_header *h = (const void *)(w->page + 4096 + w->at);
	u32 size;

	if (w->at >= __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE))
		return 0;
	w->at += h->size;
	w->misc = h->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	expect(h->type, PERF_RECORD_SAMPLE);
	memcpy(&size, h + 1, 4);
	expect(size % 8, 4);
	expect(sizeof(*h) + 4 + size, h->size);
	memcpy(w->raw, (const char *)(h + 1) + 4, size < sizeof(w->raw) ? size : sizeof(w->raw));
	return 1;
}

static s64 number(const struct watched *w, const char *name)
{
	int offset = 0, size = 0, is_loc;
	s64 value = 0;

	expect(field_at(w->name, name, &offset, &size, &is_loc), 1);
	memcpy(&value, w->raw + offset, (size_t)size);
	return size == 4 ? (s32)value : size == 2 ? (short)value : value;
}

static const char *string(const struct watched *w, const char *name)
{
	int offset = 0, size = 0, is_loc = 0;
	u32 loc;

	expect(field_at(w->name, name, &offset, &size, &is_loc), 1);
	if (!is_loc)
		return w->raw + offset;
	memcpy(&loc, w->raw + offset, 4);
	return w->raw + (loc & 0xffff);
}

static void expect_text(const char *got, const char *want)
{
	if (strcmp(got, want))
		printf("%s is not %s\n", got, want);
	expect(strcmp(got, want), 0);
}

static void named(const char *name)
{
	prctl(PR_SET_NAME, name);
}

static void births(void)
{
	struct watched fork_of = watch("sched/sched_process_fork"), new = watch("task/task_newtask");
	int pid;

	named("parent");
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	expect(take(&fork_of), 1);
	expect(fork_of.misc, PERF_RECORD_MISC_KERNEL);
	expect(number(&fork_of, "common_pid"), getpid());
	expect(number(&fork_of, "parent_pid"), getpid());
	expect(number(&fork_of, "child_pid"), pid);
	expect_text(string(&fork_of, "parent_comm"), "parent");
	expect_text(string(&fork_of, "child_comm"), "parent");
	expect(take(&fork_of), 0);
	expect(take(&new), 1);
	expect(number(&new, "common_pid"), getpid());
	expect(number(&new, "pid"), pid);
	expect_text(string(&new, "comm"), "parent");
	expect(number(&new, "clone_flags") & ~(0x01000000l | 0x00200000l), 0); /* SETTID, CLEARTID: the C library's */
	expect(take(&new), 0);
	unwatch(&fork_of);
	unwatch(&new);
}

static void *nothing(void *arg)
{
	return arg;
}

static void threads(void)
{
	struct perf_attr a = trace_attr("task/task_newtask");
	pthread_t thread;
	long fd;

	a.inherit = 1;
	fd = trace_open(a, 0);

	for (int i = 0; i < 10; i++) {
		pthread_create(&thread, NULL, nothing, NULL);
		pthread_join(thread, NULL);
	}
	expect(trace_count(fd), 10);
}

/* Programs that are found and one that is not. */
static void programs(void)
{
	static char *const argv[] = {"true", NULL}, *const env[] = {NULL};
	struct perf_attr a = trace_attr("sched/sched_process_exec");
	long execs, forks;
	int pid;

	a.inherit = 1;
	execs = trace_open(a, 0);
	a.config = (u64)trace_id("sched/sched_process_fork");
	forks = trace_open(a, 0);
	for (int i = 0; i < 3; i++) {
		expect(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, env), 0);
		waitpid(pid, NULL, 0);
	}
	expect(posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, env), ENOENT);
	expect(trace_count(execs), 3);
	expect(trace_count(forks), 4);
}

/* In a child that watches itself: what it executes, what it is called then, and its end. */
static void own_program(void)
{
	struct perf_attr a = trace_attr("sched/sched_process_exec");
	struct watched exec = {.name = "sched/sched_process_exec"}, rename = {.name = "task/task_rename"},
		       end = {.name = "sched/sched_process_exit"};
	struct watched *all[] = {&exec, &rename, &end};
	int pid, go[2];
	char c;

	expect(pipe(go), 0);
	pid = fork();
	if (!pid) {
		named("before");
		if (read(go[0], &c, 1) == 1)
			execl("/bin/sh", "sh", "-c", "exit 3", NULL);
		_exit(1);
	}
	usleep(100000);
	for (int i = 0; i < 3; i++) {
		a.config = (u64)trace_id(all[i]->name);
		a.sample_type = PERF_SAMPLE_RAW;
		a.sample_period = 1;
		all[i]->fd = trace_open(a, pid);
		all[i]->page = mmap(NULL, TRACE_RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)all[i]->fd, 0);
	}
	expect(write(go[1], "", 1), 1);
	waitpid(pid, NULL, 0);
	expect(take(&exec), 1);
	expect_text(string(&exec, "filename"), "/bin/sh");
	expect(number(&exec, "pid"), pid);
	expect(number(&exec, "old_pid"), pid);
	expect(take(&exec), 0);
	expect(take(&rename), 1);
	expect(number(&rename, "pid"), pid);
	expect_text(string(&rename, "oldcomm"), "before");
	expect_text(string(&rename, "newcomm"), "sh");
	expect(take(&rename), 0);
	expect(take(&end), 1);
	expect(number(&end, "pid"), pid);
	expect_text(string(&end, "comm"), "sh");
	expect(number(&end, "prio"), 120 + getpriority(0, 0));
	expect(take(&end), 0);
	for (int i = 0; i < 3; i++)
		unwatch(all[i]);
	close(go[0]);
	close(go[1]);
}

static void names(void)
{
	struct watched rename = watch("task/task_rename");
	FILE *f;

	named("one");
	named("two");
	f = fopen("/proc/self/comm", "w");
	fputs("three", f);
	fclose(f);
	named("four");
	for (int i = 0; i < 4; i++) {
		static const char *const text[] = {"parent", "one", "two", "three", "four"};

		expect(take(&rename), 1);
		expect(number(&rename, "common_pid"), getpid());
		if (i)
			expect_text(string(&rename, "oldcomm"), text[i]);
		expect_text(string(&rename, "newcomm"), text[i + 1]);
	}
	expect(take(&rename), 0);
	unwatch(&rename);
}

/* By themselves, by a signal, by SIGKILL, and all threads of a process. */
static void *waits(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void ends(void)
{
	struct perf_attr a = trace_attr("sched/sched_process_exit");
	pthread_t thread;
	int pid, go[2];
	long fd;
	char c;

	a.inherit = 1;
	fd = trace_open(a, 0);
	for (int how = 0; how < 4; how++) {
		expect(pipe(go), 0);
		pid = fork();
		if (!pid) {
			if (how == 3)
				for (int i = 0; i < 3; i++)
					pthread_create(&thread, NULL, waits, NULL);
			expect(write(go[1], "", 1), 1);
			if (how == 0 || how == 3)
				_exit(0);
			waits(NULL);
		}
		expect(read(go[0], &c, 1), 1);
		if (how == 1)
			kill(pid, SIGTERM);
		if (how == 2)
			kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(go[0]);
		close(go[1]);
	}
	expect(trace_count(fd), 1 + 1 + 1 + 4);
}

static void handled(int signo)
{
	(void)signo;
}

static void signals(void)
{
	struct sigaction sa = {.sa_handler = handled};
	struct watched deliver = watch("signal/signal_deliver");
	struct perf_attr a;
	sigset_t set;
	long count;
	int pid;

	sigaction(SIGUSR1, &sa, NULL);
	signal(SIGUSR2, SIG_IGN);
	raise(SIGUSR1);
	raise(SIGUSR2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1);
	expect(perf_value(deliver.fd), 1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	for (int i = 0; i < 2; i++) {
		expect(take(&deliver), 1);
		expect(number(&deliver, "sig"), SIGUSR1);
		expect(number(&deliver, "errno"), 0);
		expect(number(&deliver, "code"), i ? SI_USER : SI_TKILL);
		expect(number(&deliver, "sa_handler"), (s64)handled);
		expect(number(&deliver, "sa_flags"), 0x04000000); /* SA_RESTORER */
	}
	expect(take(&deliver), 0);
	unwatch(&deliver);
	/* Those that end a process. */
	a = trace_attr("signal/signal_deliver");
	a.inherit = 1;
	count = trace_open(a, 0);
	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (!pid && i)
			*(volatile int *)8 = 0;
		if (!pid)
			raise(SIGTERM);
		waitpid(pid, NULL, 0);
	}
	expect(trace_count(count), 2);
	signal(SIGUSR2, SIG_DFL);
}

/* Not while they are excluded, nor if the filter does not let them. */
static void filters(void)
{
	struct perf_attr a = trace_attr("task/task_rename");
	long fd = trace_open(a, 0), excluded;

	a.exclude_kernel = 1;
	excluded = trace_open(a, 0);
	expect(ioctl((int)fd, PERF_EVENT_IOC_SET_FILTER, "newcomm == \"yes\" || newcomm ~ \"also*\""), 0);
	named("no");
	named("yes");
	named("also this");
	expect(trace_count(fd), 2);
	expect(trace_count(excluded), 0);
	fd = trace_open(trace_attr("sched/sched_process_exec"), 0);
	expect(ioctl((int)fd, PERF_EVENT_IOC_SET_FILTER, "filename == \"/bin/true\" && old_pid > 0"), 0);
	close((int)fd);
}

static void *without_frames(void *memory)
{
	munmap(memory, 4096);
	/* exit(0), with a frame pointer to nowhere */
	__asm__ volatile("mov %0, %%rbp; xor %%edi, %%edi; mov $60, %%eax; syscall" : : "r"(memory) : "memory");
	return NULL;
}

/* The stack that a thread's end is sampled with may not be there. */
static void end_without_stack(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perf_attr a = trace_attr("sched/sched_process_exit");
	pthread_t thread;
	long fd;

	a.inherit = 1;
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	fd = trace_open(a, 0);
	expect(pthread_create(&thread, NULL, without_frames, memory), 0);
	expect(pthread_join(thread, NULL), 0);
	expect(trace_count(fd), 1);
}

int main(void)
{
	trace_skip_without();
	births();
	threads();
	programs();
	own_program();
	names();
	ends();
	end_without_stack();
	signals();
	filters();
	return perf_result();
}
