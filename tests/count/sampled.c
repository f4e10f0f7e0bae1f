/*
 * Runs a program with sampling events on it, as perf record does, and prints every sample. For use under pcl.
 *
 *   sampled [-o FILE] COLUMN:PERIOD... -- program [args...]
 *
 * PERIOD is a number, or f and a frequency. An event with a ring of its own for each COLUMN (a number, as the
 * oracle's), opened on the child before its execve with enable_on_exec and inherit. Such a ring belongs to one CPU, so
 * the program is bound to one. Prints, when all is over:
 *
 *   sample TASK WHICH ADDRESS SP    as the oracle does, but for the code: the registers are PERF_SAMPLE_REGS_USER
 *   at TASK COUNT                   in front of that, with a frequency: the sum of the task's periods up to it
 *   count WHICH N                   what the event counted, in all tasks
 *   bad REASON                      of a record that is not as it should be; lost records too
 *
 * Exit status: the program's (128 + signal for a death by signal); 77 if there is no counter.
 * covers: attr.precise_ip 2, PERF_RECORD_MISC_EXACT_IP, PERF_SAMPLE_IP
 */
#include <asm/perf_regs.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/count/events.h"

#define SAMPLERS 16
#define RING_BYTES (512u * 4096)
#define TASKS 256

struct sampler {
	unsigned column;
	uint64_t period, freq; /* one of them is 0 */
	int fd;
	struct perf_event_mmap_page *page;
};

struct sample {
	uint64_t ip, sp, period;
	uint32_t tid, which;
};

/* The record, for the sample_type below. */
struct record {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time, period, abi, regs[2]; /* in the order of the PERF_REG_X86_* */
};

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
};

static struct sampler samplers[SAMPLERS];
static unsigned sampler_count, task_count, sample_count, sample_room;
static struct sample *samples;
static uint32_t tasks[TASKS]; /* thread ids in the order of creation */
static FILE *out;

static int fail(const char *what)
{
	fprintf(stderr, "sampled: %s: %s\n", what, strerror(errno));
	exit(1);
}

static bool add_sampler(const char *text)
{
	struct sampler *s = &samplers[sampler_count];
	const char *period = strchr(text, ':');

	if (!period || sampler_count == SAMPLERS)
		return false;
	s->column = (unsigned)atoi(text) % EVENTS;
	if (period[1] == 'f')
		s->freq = strtoull(period + 2, NULL, 0);
	else
		s->period = strtoull(period + 1, NULL, 0);
	return (s->period || s->freq) && ++sampler_count;
}

static void open_sampler(struct sampler *s, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.task = s == samplers,
		.precise_ip = 2,
		.freq = !!s->freq,
		.sample_period = s->period + s->freq,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_REGS_USER,
		.sample_regs_user = 1ul << PERF_REG_X86_SP | 1ul << PERF_REG_X86_IP,
	};
	void *map;

	s->fd = events_attr(s->column, &attr) ? -1 : events_open(&attr, pid, cpu);
	if (s->fd < 0) {
		printf("sampled: perf_event_open: %s\n", strerror(errno));
		exit(events_none(errno) ? 77 : 1);
	}
	map = mmap(NULL, 4096 + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (map == MAP_FAILED)
		fail("mmap");
	s->page = map;
}

static void take_sample(const struct sampler *s, const struct record *r)
{
	uint16_t misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP;

	if (r->header.misc != misc)
		fprintf(out, "bad misc %x\n", r->header.misc);
	if (s->period && r->period != s->period)
		fprintf(out, "bad period %llu\n", (unsigned long long)r->period);
	if (r->abi != PERF_SAMPLE_REGS_ABI_64 || r->regs[1] != r->ip)
		fprintf(out, "bad registers: ip %llx, regs_user ip %llx\n", (unsigned long long)r->ip,
			(unsigned long long)r->regs[1]);
	if (sample_count == sample_room) {
		sample_room = sample_room ? 2 * sample_room : 1024;
		samples = realloc(samples, sample_room * sizeof(*samples));
		if (!samples)
			fail("realloc");
	}
	samples[sample_count++] = (struct sample){r->ip, r->regs[0], r->period, r->tid, (uint32_t)(s - samplers)};
}

static void take_record(const struct sampler *s, const void *record)
{
	const struct perf_event_header *h = record;
	const struct fork_record *f = record;

	if (h->type == PERF_RECORD_SAMPLE && h->size == sizeof(struct record))
		take_sample(s, record);
	else if (h->type == PERF_RECORD_FORK && task_count < TASKS)
		tasks[task_count++] = f->tid;
	else if (h->type == PERF_RECORD_LOST)
		fprintf(out, "lost\n");
	else if (h->type != PERF_RECORD_EXIT)
		fprintf(out, "bad record of type %u, %u bytes\n", h->type, h->size);
}

static bool drain(struct sampler *s)
{
	const char *data = (const char *)s->page + 4096;
	uint64_t head = __atomic_load_n(&s->page->data_head, __ATOMIC_ACQUIRE), tail = s->page->data_tail;
	char record[256];
	bool any = head != tail;

	while (tail != head) {
		const struct perf_event_header *h = (const void *)(data + tail % RING_BYTES);
		size_t first = RING_BYTES - tail % RING_BYTES;

		if (h->size < 8 || h->size > sizeof(record))
			fail("torn record");
		memcpy(record, h, first < h->size ? first : h->size);
		if (first < h->size)
			memcpy(record + first, data, h->size - first);
		tail += h->size;
		take_record(s, record);
		__atomic_store_n(&s->page->data_tail, tail, __ATOMIC_RELEASE);
	}
	return any;
}

static int wait_and_drain(pid_t pid)
{
	int status, done;
	bool any;

	do {
		done = waitpid(pid, &status, WNOHANG);
		any = false;
		for (unsigned i = 0; i < sampler_count; i++)
			any |= drain(&samplers[i]);
		if (!any)
			usleep(1000);
	} while (!done);
	return status;
}

static int task_number(uint32_t tid)
{
	for (unsigned i = 0; i < task_count; i++)
		if (tasks[i] == tid)
			return (int)i;
	return -1;
}

static void print_all(void)
{
	static uint64_t sum[TASKS][SAMPLERS];
	uint64_t value;

	for (unsigned i = 0; i < sample_count; i++) {
		const struct sample *s = &samples[i];
		int task = task_number(s->tid);

		if (samplers[s->which].freq && task >= 0)
			fprintf(out, "at %d %llu\n", task, (unsigned long long)(sum[task][s->which] += s->period));
		fprintf(out, "sample %d %u %llx %llx\n", task, s->which, (unsigned long long)s->ip,
			(unsigned long long)s->sp);
	}
	for (unsigned i = 0; i < sampler_count; i++)
		if (read(samplers[i].fd, &value, sizeof(value)) == sizeof(value))
			fprintf(out, "count %u %llu\n", i, (unsigned long long)value);
	fclose(out);
}

static int bind_to_one_cpu(cpu_set_t *before)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_getaffinity(0, sizeof(*before), before) || sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity");
	return cpu;
}

int main(int argc, char **argv)
{
	int go, status, opt, cpu;
	cpu_set_t before;
	pid_t pid;

	out = stderr;
	while ((opt = getopt(argc, argv, "+o:")) != -1)
		if (opt != 'o' || !(out = fopen(optarg, "we")))
			return 1;
	for (; optind < argc && add_sampler(argv[optind]); optind++)
		;
	if (!sampler_count || optind + 1 >= argc || strcmp(argv[optind], "--"))
		return 1;
	cpu = bind_to_one_cpu(&before);
	pid = events_start(argv + optind + 1, &go);
	if (pid < 0)
		fail("fork");
	sched_setaffinity(0, sizeof(before), &before);
	tasks[task_count++] = (uint32_t)pid;
	for (unsigned i = 0; i < sampler_count; i++)
		open_sampler(&samplers[i], pid, cpu);
	if (write(go, "", 1) != 1)
		fail("write");
	close(go);
	status = wait_and_drain(pid);
	print_all();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
