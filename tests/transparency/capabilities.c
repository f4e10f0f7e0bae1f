/*
 * What each capability lets a user do: root keeps one of them, or none, and tries what needs privilege. (An ordinary
 * user cannot be given one.)
 * covers: CAP_*
 */
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "tests/abi/errno/perf.h"

static void keep(int cap)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (cap >= 0)
		data[cap / 32].effective = data[cap / 32].permitted = 1u << cap % 32;
	if (syscall(SYS_capset, &head, data))
		printf(" (capset: %s)", strerror(errno));
}

static void try_open(const char *what, struct perf_attr a, int pid, int cpu)
{
	printf(" %s %ld", what, perf_try(a, pid, cpu, -1, 0));
}

/* Far more than perf_event_mlock_kb and the limit allow. */
static void try_map(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	long fd = perf_open(&a, 0, -1, -1, 0), length = 4096 * (1 + 4096);
	void *at = mmap(NULL, (size_t)length, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);

	printf(" map %s", at == MAP_FAILED ? strerror(errno) : "done");
	if (at != MAP_FAILED)
		munmap(at, (size_t)length);
	close((int)fd);
}

static void try_all(const char *name)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	printf("%s:", name);
	try_open("user", a, 0, -1);
	try_open("cpu", a, -1, sched_getcpu());
	try_open("parent", a, getppid(), -1);
	a.exclude_kernel = 0;
	try_open("kernel", a, 0, -1);
	a.exclude_kernel = 1;
	a.sample_period = 1000000;
	a.sample_type = PERF_SAMPLE_PHYS_ADDR;
	try_open("phys", a, 0, -1);
	a.sample_type = 0;
	a.namespaces = 1;
	try_open("namespaces", a, 0, -1);
	try_map();
	putchar('\n');
}

/* In a child, whose privilege is gone for good. */
static void with(const char *name, int cap)
{
	struct rlimit limit = {65536, 65536};

	fflush(stdout);
	if (!fork()) {
		setrlimit(RLIMIT_MEMLOCK, &limit);
		keep(cap);
		try_all(name);
		exit(0);
	}
	wait(NULL);
}

/* Ubuntu's kernels know more than 2: then all of it wants CAP_PERFMON. */
static int is_stricter(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	int paranoid = 0;

	if (f && fscanf(f, "%d", &paranoid) != 1)
		paranoid = 0;
	if (f)
		fclose(f);
	return paranoid > 2;
}

int main(void)
{
	if (is_stricter()) {
		printf("perf_event_paranoid is above 2: this kernel refuses more than Linux does\n");
		return 77;
	}
	if (!perf_linux_is_new() || perf_result() == 77) {
		printf("no perf_event_open as that of Linux 6.15 and later\n");
		return 77;
	}
	with("CAP_PERFMON", CAP_PERFMON);
	with("CAP_SYS_ADMIN", CAP_SYS_ADMIN);
	with("CAP_SYS_PTRACE", CAP_SYS_PTRACE);
	with("CAP_IPC_LOCK", CAP_IPC_LOCK);
	with("none", -1);
	return 0;
}
