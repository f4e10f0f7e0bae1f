/* See family.h. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cli/family.h"
#include "cli/memory.h"
#include "cli/records.h"

#define RING_DATA (16 * PAGE_SIZE)
#define RING_SIZE (PAGE_SIZE + RING_DATA)

struct family_task {
	u32 pid, tid;
};

static int open_dummy(pid_t pid, bool inherit)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY,
				       .sample_period = 1,
				       .disabled = inherit,
				       .enable_on_exec = inherit,
				       .inherit = inherit,
				       .comm = inherit,
				       .comm_exec = inherit,
				       .task = inherit,
				       .exclude_kernel = 1};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int find(const struct family *f, u32 tid)
{
	int i = f->nr - 1;

	while (i >= 0 && f->task[i].tid != tid)
		i--;
	return i;
}

static void add(struct family *f, u32 pid, u32 tid)
{
	if (find(f, tid) >= 0)
		return;
	f->task = memory_resize(f->task, (size_t)f->nr + 1, sizeof(*f->task));
	f->task[f->nr++] = (struct family_task){pid, tid};
}

/* An inherited event has no ring of its own, if it is not bound to a CPU. */
void family_open(struct family *f, pid_t pid, void (*see)(void *arg, void *record), void *arg)
{
	*f = (struct family){.see = see, .arg = arg};
	add(f, (u32)pid, (u32)pid);
	f->dummy = open_dummy(pid, false);
	f->fd = open_dummy(pid, true);
	if (f->dummy < 0 || f->fd < 0)
		return;
	f->ring = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, f->dummy, 0);
	if (f->ring == MAP_FAILED)
		f->ring = NULL;
	else if (ioctl(f->fd, PERF_EVENT_IOC_SET_OUTPUT, f->dummy)) {
		munmap(f->ring, RING_SIZE);
		f->ring = NULL;
	}
}

static void take_exit(struct family *f, u32 tid)
{
	int i = find(f, tid);

	if (i >= 0)
		f->task[i] = f->task[--f->nr];
}

/* A thread that executes a program becomes its process's first. */
static void take_exec(struct family *f, const struct record_comm *r)
{
	if (!(r->header.misc & PERF_RECORD_MISC_COMM_EXEC))
		return;
	f->began = true;
	add(f, r->pid, r->tid);
}

static void take(void *arg, void *record)
{
	const struct perf_event_header *h = record;
	const struct record_fork *fork = record;
	struct family *f = arg;

	if (h->type == PERF_RECORD_FORK)
		add(f, fork->pid, fork->tid);
	else if (h->type == PERF_RECORD_EXIT)
		take_exit(f, fork->tid);
	else if (h->type == PERF_RECORD_COMM)
		take_exec(f, record);
	else if (h->type == PERF_RECORD_LOST)
		f->lost = true;
	if (f->see)
		f->see(f->arg, record);
}

void family_drain(struct family *f)
{
	if (f->ring)
		records_drain(f->ring, RING_DATA, take, f);
}

/* A task that was killed has no record of its end until somebody finds it dead. */
static bool is_alive(const struct family_task *t)
{
	char path[64], text[512], *end;
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", t->pid, t->tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = 0;
	fclose(f);
	end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] != 'Z' && end[2] != 'X';
}

/* The event has ended with all that inherited it: that is known even if records found no room. */
int family_alive(const struct family *f)
{
	struct pollfd p = {.fd = f->fd};
	int alive = 0;

	if (!f->ring)
		return FAMILY_UNKNOWN;
	if (poll(&p, 1, 0) == 1 && p.revents & POLLHUP)
		return 0;
	for (int i = 0; i < f->nr; i++)
		alive += is_alive(&f->task[i]);
	return f->lost ? MAX(alive, 1) : alive;
}

bool family_began(const struct family *f)
{
	return !f->ring || f->began;
}

void family_close(struct family *f)
{
	if (f->ring)
		munmap(f->ring, RING_SIZE);
	if (f->dummy >= 0)
		close(f->dummy);
	if (f->fd >= 0)
		close(f->fd);
	free(f->task);
	f->ring = NULL;
	f->task = NULL;
}
