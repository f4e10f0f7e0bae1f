/*
 * Side-band records of a program that does everything that makes one, from its exec to its end, in their order and with
 * all that does not change from run to run. For each of several kinds of events: a dummy event counts the program and
 * what it starts, on the one CPU that all of it runs on, so that one ring gets everything.
 * covers: attr.mmap, attr.mmap2, attr.mmap_data, attr.comm, attr.comm_exec, attr.task, attr.inherit_stat,
 * attr.build_id, attr.sample_id_all, attr.enable_on_exec, PERF_RECORD_MMAP*, PERF_RECORD_COMM*, PERF_RECORD_FORK,
 * PERF_RECORD_EXIT, PERF_RECORD_READ, header.*, PERF_RECORD_MISC_COMM_EXEC, PERF_RECORD_MISC_MMAP_BUILD_ID,
 * page.data_offset, page.data_size
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES	      64
#define TIDS	      16
#define SLACK_NS      10000000ul  /* between the two times of one record */
#define BUILD_ID_BIT  (1ul << 34) /* attr.build_id of newer headers */
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

static uint64_t *flags_of(struct perf_event_attr *attr)
{
	return (uint64_t *)&attr->read_format + 1;
}

/* ---- the program that is looked at ---- */

static void *thread(void *arg)
{
	prctl(PR_SET_NAME, "a thread");
	return arg;
}

static void map_code(const char *self)
{
	long page = sysconf(_SC_PAGESIZE);
	int fd = open(self, O_RDONLY), mem = memfd_create("some code", 0);
	char *p = mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE, fd, 0);

	/* A piece in the middle, then all of it; what is executable already tells nothing. */
	mprotect(p + page, page, PROT_READ | PROT_EXEC);
	mprotect(p + page, page, PROT_READ | PROT_EXEC);
	mprotect(p, 3 * page, PROT_READ | PROT_EXEC);
	mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED, fd, page);
	close(fd);
	if (ftruncate(mem, page) == 0)
		mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED, mem, 0);
	close(mem);
	fd = open("gone", O_CREAT | O_RDWR, 0700);
	if (ftruncate(fd, page) == 0 && unlink("gone") == 0)
		mmap(NULL, page, PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	mmap((void *)0x100000000, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	     -1, 0);
	mmap((void *)0x100004000, page, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static int program(const char *self)
{
	pthread_t t;
	pid_t pid;

	prctl(PR_SET_NAME, "a name that is too long");
	map_code(self);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	pid = fork();
	if (pid == 0)
		_exit(3);
	waitpid(pid, NULL, 0);
	pid = vfork();
	if (pid == 0) {
		execl(self, self, "nothing", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

/* ---- the records ---- */

static uint32_t tids[TIDS];

/* Tasks by the order in which they are first heard of. */
static unsigned number_of(uint32_t tid)
{
	unsigned i;

	for (i = 0; i < TIDS && tids[i] && tids[i] != tid; i++)
		;
	if (i < TIDS)
		tids[i] = tid;
	return i;
}

static void print_task(const char *before, uint32_t pid, uint32_t tid)
{
	printf("%s%u", before, number_of(pid));
	printf("/%u", number_of(tid));
}

static void print_mmap(const struct perf_event_header *h)
{
	const uint32_t *ids = (const uint32_t *)(h + 1);
	const uint64_t *map = (const uint64_t *)(ids + 2);
	const uint32_t *dev = (const uint32_t *)(map + 3);
	const uint64_t *ino = (const uint64_t *)(dev + 2);
	const uint32_t *prot = (const uint32_t *)(ino + 2);
	const char *name = h->type == PERF_RECORD_MMAP ? (const char *)(map + 3) : (const char *)(prot + 2);
	int anon = name[0] != '/' || name[1] == '/';

	print_task("", ids[0], ids[1]);
	printf(" \"%s\"", name);
	/* What is beside an anonymous mapping, so that it joins, is the loader's business. */
	if (!anon || map[0] >> 32 == 1)
		printf(" len %lx", (unsigned long)map[1]);
	if (!anon)
		printf(" pgoff %lx", (unsigned long)map[2]);
	else if (strcmp(name, "[stack]")) /* natively that of the place where exec built it */
		printf(" pgoff %s", map[2] == map[0] ? "is the address" : map[2] ? "is another address" : "0");
	if (h->type == PERF_RECORD_MMAP2) {
		printf(" prot %x flags %x", prot[0], prot[1]);
		if (h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			const uint8_t *id = (const uint8_t *)dev;

			printf(" build id %u: ", id[0]);
			for (unsigned i = 0; i < id[0]; i++)
				printf("%02x", id[4 + i]);
		} else if (!strstr(name, "(deleted)")) {
			printf(" %u:%u %lu %lu", dev[0], dev[1], (unsigned long)ino[0], (unsigned long)ino[1]);
		} else {
			printf(" inode %d", !!ino[0]);
		}
	}
}

static void print_record(const struct perf_event_header *h)
{
	const uint32_t *id = (const uint32_t *)(h + 1);
	const uint64_t *words = (const uint64_t *)(h + 1);
	/* The trailer: TID, TIME, ID, CPU. */
	const uint32_t *trailer = (const uint32_t *)((const char *)h + h->size - 32);

	printf("type %u misc %x size %d: ", h->type, h->misc,
	       h->type == PERF_RECORD_MMAP2 || h->type == PERF_RECORD_MMAP ? 0 : h->size);
	switch (h->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		print_mmap(h);
		break;
	case PERF_RECORD_COMM:
		print_task("", id[0], id[1]);
		printf(" \"%s\"%s", (const char *)(id + 2), h->misc & PERF_RECORD_MISC_COMM_EXEC ? " by exec" : "");
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		print_task("", id[0], id[2]);
		print_task(" of ", id[1], id[3]);
		if (*(const uint64_t *)(trailer + 2) - *(const uint64_t *)(id + 4) + SLACK_NS > 2 * SLACK_NS)
			printf(" times differ");
		break;
	case PERF_RECORD_READ:
		print_task("", id[0], id[1]);
		printf(" value %lu", (unsigned long)words[1]);
		break;
	}
	print_task(" by ", trailer[0], trailer[1]);
	putchar('\n');
}

static void print_ring(const struct perf_event_mmap_page *page)
{
	const char *data = (const char *)page + page->data_offset;
	static char copy[65536];
	uint64_t at, last = 0;

	for (at = 0; at < page->data_head;) {
		const struct perf_event_header *h = (const void *)(data + at % page->data_size);
		uint64_t time;

		for (unsigned i = 0; i < h->size; i++)
			copy[i] = data[(at + i) % page->data_size];
		print_record((void *)copy);
		memcpy(&time, copy + h->size - 24, 8);
		if (time < last)
			printf("time goes back\n");
		last = time;
		at += h->size;
	}
}

static void look(const char *self, const char *what, struct perf_event_attr attr, uint64_t more_flags)
{
	int go[2], fd, status;
	cpu_set_t one;
	pid_t pid;
	void *ring;
	char c;

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_type |= PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU;
	attr.sample_id_all = attr.disabled = attr.enable_on_exec = attr.inherit = attr.exclude_kernel =
		attr.exclude_hv = 1;
	*flags_of(&attr) |= more_flags;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	memset(tids, 0, sizeof(tids));
	printf("-- %s\n", what);
	fflush(stdout);
	if (pipe(go))
		exit(1);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			execl(self, self, "program", (char *)NULL);
		_exit(1);
	}
	close(go[0]);
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, sched_getcpu(), -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		printf("perf_event_open: %s\n", strerror(errno));
		exit(errno == EOPNOTSUPP || errno == EINVAL ? 77 : 1);
	}
	ring = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		exit(1);
	number_of((uint32_t)getpid());
	number_of((uint32_t)pid);
	if (write(go[1], "", 1) != 1)
		exit(1);
	close(go[1]);
	waitpid(pid, &status, 0);
	print_ring(ring);
	munmap(ring, (1 + PAGES) * 4096);
	close(fd);
}

int main(int argc, char **argv)
{
	char self[4096] = "";

	if (argc > 1)
		return strcmp(argv[1], "program") ? 0 : program(argv[0]);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	look(self, "mmap2, comm, task",
	     (struct perf_event_attr){.mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1, .task = 1}, 0);
	look(self, "mmap_data", (struct perf_event_attr){.mmap_data = 1, .mmap2 = 1}, 0);
	look(self, "mmap", (struct perf_event_attr){.mmap = 1}, 0);
	look(self, "build ids", (struct perf_event_attr){.mmap = 1, .mmap2 = 1}, BUILD_ID_BIT);
	look(self, "comm", (struct perf_event_attr){.comm = 1}, 0);
	look(self, "task", (struct perf_event_attr){.task = 1}, 0);
	/* With PERF_SAMPLE_READ the kernel does not exchange the contexts of parent and child, which makes the records
	 * wander. */
	look(self, "inherit_stat",
	     (struct perf_event_attr){
		     .inherit_stat = 1, .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED, .sample_type = PERF_SAMPLE_READ},
	     0);
	return 0;
}
