/* See family.h. */
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cli/family.h"
#include "cli/records.h"

#define RING_DATA (16 * PAGE_SIZE)
#define RING_SIZE (PAGE_SIZE + RING_DATA)

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

/* An inherited event has no ring of its own, if it is not bound to a CPU. */
void family_open(struct family *f, pid_t pid, void (*see)(void *arg, void *record), void *arg)
{
	*f = (struct family){.see = see, .arg = arg, .alive = 1};
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

static void take(void *arg, void *record)
{
	const struct perf_event_header *h = record;
	struct family *f = arg;

	f->alive += h->type == PERF_RECORD_FORK;
	f->alive -= h->type == PERF_RECORD_EXIT;
	f->began |= h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC;
	if (f->see)
		f->see(f->arg, record);
}

void family_drain(struct family *f)
{
	if (f->ring)
		records_drain(f->ring, RING_DATA, take, f);
}

/* The event has ended with all that inherited it: that is known even if records found no room. */
int family_alive(const struct family *f)
{
	struct pollfd p = {.fd = f->fd};

	if (!f->ring)
		return FAMILY_UNKNOWN;
	if (poll(&p, 1, 0) == 1 && p.revents & POLLHUP)
		return 0;
	return MAX(f->alive, 1);
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
	f->ring = NULL;
}
