/* See tasks.h. The records are those of perf_event_open(2); each CPU's events write to the ring of the first. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cli/memory.h"
#include "cli/records.h"
#include "cli/regions.h"
#include "cli/tasks.h"

#define RING_DATA (64 * PAGE_SIZE)
#define RING_SIZE (PAGE_SIZE + RING_DATA)

static int open_one(struct spec *s, pid_t pid, int cpu, int group)
{
	regions_wait(&s->attr, group < 0);
	if (group < 0)
		s->attr.pinned = 1;
	s->attr.inherit = s->attr.inherit_stat = 1;
	s->attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
	return (int)syscall(SYS_perf_event_open, &s->attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

/* The events of one CPU. ENODEV: it is offline, and there are none. */
static int open_cpu(struct tasks *t, struct specs *specs, pid_t pid, int cpu, int *refused)
{
	int *fd = t->fd + cpu * t->events;

	for (int i = 0; i < t->events; i++) {
		int leader = specs->spec[i].leader;

		*refused = i;
		fd[i] = open_one(&specs->spec[i], pid, cpu, leader >= 0 && leader != i ? fd[leader] : -1);
		if (fd[i] < 0)
			return errno;
		if (ioctl(fd[i], PERF_EVENT_IOC_ID, &t->id[cpu * t->events + i]))
			return errno;
		if (i && ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT, fd[0]))
			return errno;
		if (i)
			continue;
		t->ring[cpu] = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd[0], 0);
		if (t->ring[cpu] == MAP_FAILED) {
			t->ring[cpu] = NULL;
			return errno;
		}
	}
	return 0;
}

static struct task_share *add_task(struct tasks *t, pid_t pid, pid_t tid)
{
	struct task_share *more = memory_resize(t->task, (size_t)t->nr + 1, sizeof(*more));

	t->task = more;
	more += t->nr++;
	*more = (struct task_share){
		.pid = pid, .tid = tid, .count = memory_zeroed((size_t)t->events, sizeof(*more->count))};
	return more;
}

static int tasks_open(void *arg, struct specs *specs, pid_t pid, int *refused)
{
	struct tasks *t = arg;
	size_t n;

	*t = (struct tasks){.events = specs->nr, .cpus = (int)sysconf(_SC_NPROCESSORS_CONF)};
	n = (size_t)t->cpus * (size_t)t->events;
	t->fd = malloc(n * sizeof(*t->fd));
	t->id = calloc(n, sizeof(*t->id));
	t->ring = calloc((size_t)t->cpus, sizeof(*t->ring));
	if (!t->fd || !t->id || !t->ring)
		return ENOMEM;
	memset(t->fd, -1, n * sizeof(*t->fd));
	add_task(t, pid, pid);
	for (int cpu = 0; cpu < t->cpus; cpu++) {
		int err = open_cpu(t, specs, pid, cpu, refused);

		if (err && err != ENODEV)
			return err;
	}
	return 0;
}

static struct task_share *find_task(struct tasks *t, u32 pid, u32 tid)
{
	for (int i = t->nr - 1; i >= 0; i--)
		if (t->task[i].tid == (pid_t)tid)
			return &t->task[i];
	return add_task(t, (pid_t)pid, (pid_t)tid);
}

static void take_fork(struct tasks *t, const struct record_fork *r)
{
	find_task(t, r->pid, r->tid)->parent = (pid_t)r->ptid;
}

static void take_comm(struct tasks *t, const struct record_comm *r)
{
	struct task_share *task = find_task(t, r->pid, r->tid);

	memset(task->comm, 0, sizeof(task->comm));
	strncpy(task->comm, r->comm, sizeof(task->comm) - 1);
}

static void take_read(struct tasks *t, const struct record_read *r, int cpu)
{
	struct task_share *task = find_task(t, r->pid, r->tid);

	for (int i = 0; i < t->events; i++)
		if (t->id[cpu * t->events + i] == r->id)
			task->count[i] += r->value;
}

struct of_cpu {
	struct tasks *tasks;
	int cpu;
};

static void take(void *arg, void *record)
{
	const struct of_cpu *of = arg;
	const struct perf_event_header *h = record;
	struct tasks *t = of->tasks;

	if (h->type == PERF_RECORD_READ)
		take_read(t, record, of->cpu);
	else if (h->type == PERF_RECORD_LOST)
		t->lost += ((const struct record_lost *)record)->lost;
}

static void tasks_see(void *arg, void *record)
{
	const struct perf_event_header *h = record;

	if (h->type == PERF_RECORD_FORK)
		take_fork(arg, record);
	else if (h->type == PERF_RECORD_COMM)
		take_comm(arg, record);
}

static void tasks_drain(void *arg)
{
	struct tasks *t = arg;

	for (int cpu = 0; cpu < t->cpus; cpu++)
		if (t->ring[cpu])
			records_drain(t->ring[cpu], RING_DATA, take, &(struct of_cpu){t, cpu});
}

static int tasks_read(void *arg, int event, u64 value[3])
{
	struct tasks *t = arg;

	memset(value, 0, 3 * sizeof(*value));
	for (int cpu = 0; cpu < t->cpus; cpu++) {
		int fd = t->fd[cpu * t->events + event];
		u64 part[4];

		if (fd < 0)
			continue;
		if (read(fd, part, sizeof(part)) != sizeof(part))
			return -1;
		for (int i = 0; i < 3; i++)
			value[i] += part[i];
	}
	return 0;
}

/* Who never got a name of its own has its parent's, or that one's parent's. */
static void name_tasks(struct tasks *t)
{
	for (int i = 0; i < t->nr; i++) {
		const struct task_share *from = &t->task[i];

		for (int depth = 0; !from->comm[0] && from->parent && depth < t->nr; depth++)
			for (int j = 0; j < t->nr; j++)
				if (t->task[j].tid == from->parent) {
					from = &t->task[j];
					break;
				}
		memmove(t->task[i].comm, from->comm, sizeof(from->comm));
	}
}

/* Threads become part of the first task that was seen of their process. */
static void join_threads(struct tasks *t)
{
	int n = 0;

	for (int i = 0; i < t->nr; i++) {
		struct task_share *task = &t->task[i], *to = NULL;

		for (int j = 0; j < n && !to; j++)
			if (t->task[j].pid == task->pid)
				to = &t->task[j];
		if (!to) {
			t->task[n++] = *task;
			continue;
		}
		for (int e = 0; e < t->events; e++)
			to->count[e] += task->count[e];
		if (task->tid == task->pid)
			memcpy(to->comm, task->comm, sizeof(to->comm));
		free(task->count);
	}
	t->nr = n;
}

static int by_number(const void *a, const void *b)
{
	return ((const struct task_share *)a)->tid - ((const struct task_share *)b)->tid;
}

void tasks_finish(struct tasks *t, const u64 *total, bool processes)
{
	name_tasks(t);
	for (int e = 0; e < t->events; e++) {
		u64 others = 0;

		for (int i = 1; i < t->nr; i++)
			others += t->task[i].count[e];
		t->task[0].count[e] = total[e] - others;
	}
	qsort(t->task + 1, (size_t)t->nr - 1, sizeof(*t->task), by_number);
	if (processes)
		join_threads(t);
}

static void tasks_close(void *arg)
{
	struct tasks *t = arg;

	for (int i = 0; t->fd && i < t->cpus * t->events; i++)
		if (t->fd[i] >= 0)
			close(t->fd[i]);
	for (int cpu = 0; t->ring && cpu < t->cpus; cpu++)
		if (t->ring[cpu])
			munmap(t->ring[cpu], RING_SIZE);
	free(t->fd);
	free(t->id);
	free(t->ring);
	t->fd = NULL;
	t->id = NULL;
	t->ring = NULL;
}

const struct watcher tasks_watcher = {tasks_open, tasks_drain, tasks_read, tasks_close, tasks_see};
