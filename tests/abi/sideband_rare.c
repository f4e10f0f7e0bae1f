/*
 * NAMESPACES, at a fork and at unshare(2), CGROUP, and a name that is given through /proc: what needs privilege to be
 * seen. Bits of attr that never have records here (KSYMBOL, BPF_EVENT, TEXT_POKE) are accepted.
 * covers: attr.namespaces, attr.cgroup, attr.ksymbol, attr.bpf_event, attr.text_poke, PERF_RECORD_NAMESPACES*,
 * PERF_RECORD_CGROUP*, PERF_RECORD_KSYMBOL*, PERF_RECORD_BPF_EVENT*, PERF_RECORD_TEXT_POKE*, PERF_RECORD_AUX*,
 * PERF_RECORD_ITRACE_START*, PERF_AUX_FLAG_*, PERF_BPF_EVENT_*, *_NS_INDEX
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES	      8
#define FORKS	      100
#define CGROUP2_MAGIC 0x63677270

static int failures;

#define expect(cond) ((cond) ? 0 : (failures++, printf("%s:%d: %s\n", __FILE__, __LINE__, #cond)))

struct namespaces {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t nr;
	struct {
		uint64_t dev, ino;
	} ns[7];
};

static struct perf_event_mmap_page *ring;
static uint64_t at;

static const struct perf_event_header *next_record(unsigned type)
{
	while (at < ring->data_head) {
		const struct perf_event_header *h = (const void *)((const char *)ring + ring->data_offset + at);

		at += h->size;
		if (h->type == type)
			return h;
	}
	return NULL;
}

static int open_ring(struct perf_event_attr attr)
{
	int fd;

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.exclude_kernel = attr.exclude_hv = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0)
		return -1;
	at = 0;
	ring = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	expect(ring != MAP_FAILED);
	return ring == MAP_FAILED ? -1 : fd;
}

static void close_ring(int fd)
{
	munmap(ring, (1 + PAGES) * 4096);
	close(fd);
}

static void expect_namespaces(const struct namespaces *n, pid_t pid)
{
	static const char names[7][8] = {
		[NET_NS_INDEX] = "net",   [UTS_NS_INDEX] = "uts", [IPC_NS_INDEX] = "ipc",       [PID_NS_INDEX] = "pid",
		[USER_NS_INDEX] = "user", [MNT_NS_INDEX] = "mnt", [CGROUP_NS_INDEX] = "cgroup",
	};
	char path[128];
	struct stat st;

	expect(n);
	if (!n)
		return;
	expect(n->pid == (uint32_t)pid && n->tid == (uint32_t)pid);
	expect(n->nr == 7);
	for (int i = 0; i < 7; i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		expect(stat(path, &st) == 0 && n->ns[i].dev == st.st_dev && n->ns[i].ino == st.st_ino);
	}
}

static void test_namespaces(void)
{
	int fd = open_ring((struct perf_event_attr){.namespaces = 1});
	uint64_t uts;
	pid_t pid;

	if (fd < 0) {
		printf("namespaces: %s\n", strerror(errno));
		expect(errno == EACCES);
		return;
	}
	/* Many: a child may be gone before its parent is back from fork(). */
	for (int i = 0; i < FORKS && !failures; i++) {
		pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
		expect_namespaces((const void *)next_record(PERF_RECORD_NAMESPACES), pid);
	}
	if (unshare(CLONE_NEWUTS)) {
		printf("unshare: %s\n", strerror(errno));
	} else {
		const struct namespaces *n = (const void *)next_record(PERF_RECORD_NAMESPACES);

		uts = n ? n->ns[UTS_NS_INDEX].ino : 0;
		expect(uts);
		expect_namespaces(n, getpid());
	}
	expect(!next_record(PERF_RECORD_NAMESPACES));
	close_ring(fd);
}

static void test_cgroup(const char *root)
{
	char name[64], path[128];
	struct statfs fs;
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "pcl-test-%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/%s", root, name);
	if (statfs(root, &fs) || fs.f_type != CGROUP2_MAGIC || (mkdir(path, 0755) && errno != EEXIST)) {
		printf("no cgroup can be made in %s\n", root);
		return;
	}
	rmdir(path);
	fd = open_ring((struct perf_event_attr){.cgroup = 1});
	expect(fd >= 0);
	if (fd < 0)
		return;
	expect(mkdir(path, 0755) == 0);
	if (stat(path, &st) == 0) {
		const struct perf_event_header *h = next_record(PERF_RECORD_CGROUP);

		expect(h);
		if (h) {
			expect(*(const uint64_t *)(h + 1) == st.st_ino);
			expect(((const char *)(h + 1))[8] == '/' && !strcmp((const char *)(h + 1) + 9, name));
		}
	}
	rmdir(path);
	close_ring(fd);
}

static void test_name_by_proc(void)
{
	int fd = open_ring((struct perf_event_attr){.comm = 1}), file = open("/proc/self/comm", O_WRONLY);
	const struct perf_event_header *h;

	expect(fd >= 0);
	if (fd < 0)
		return;
	expect(write(file, "by the file", 11) == 11);
	h = next_record(PERF_RECORD_COMM);
	expect(h);
	if (h) {
		expect(h->misc == 0);
		expect(((const uint32_t *)(h + 1))[1] == (uint32_t)getpid());
		expect(!strcmp((const char *)(h + 1) + 8, "by the file"));
	}
	close(file);
	close_ring(fd);
}

/* Nothing here changes the kernel's text, loads a BPF program or traces instructions. */
static void test_without_records(void)
{
	static const unsigned never[] = {PERF_RECORD_KSYMBOL, PERF_RECORD_BPF_EVENT,	PERF_RECORD_TEXT_POKE,
					 PERF_RECORD_AUX,     PERF_RECORD_ITRACE_START, PERF_RECORD_LOST_SAMPLES};
	const struct perf_event_attr attrs[] = {
		{.ksymbol = 1, .comm = 1}, {.bpf_event = 1, .comm = 1}, {.text_poke = 1, .comm = 1}};

	for (unsigned i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
		int fd = open_ring(attrs[i]);

		expect(fd >= 0);
		if (fd < 0)
			continue;
		prctl(PR_SET_NAME, "renamed");
		for (unsigned k = 0; k < sizeof(never) / sizeof(never[0]); k++, at = 0)
			expect(!next_record(never[k]));
		expect(next_record(PERF_RECORD_COMM));
		close_ring(fd);
	}
}

int main(void)
{
	test_name_by_proc();
	test_without_records();
	test_cgroup("/sys/fs/cgroup");
	test_cgroup("/sys/fs/cgroup/unified");
	test_namespaces();
	return failures ? 1 : 0;
}
