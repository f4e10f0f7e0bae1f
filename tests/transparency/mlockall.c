/* mlockall and RLIMIT_MEMLOCK without CAP_IPC_LOCK: what the limit does not allow locks nothing; what /proc shows. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIMIT (256u << 10)
#define ENOUGH (7u << 20) /* for the program, and not for all that its stack may become */
#ifndef MAP_DROPPABLE /* Linux 6.11 */
#define MAP_DROPPABLE 8
#endif

static void show_locked(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmLck:", 6))
			printf("  %s", line);
	if (f)
		fclose(f);
}

/* In /proc/self/maps: mappings that differ in nothing but that some are locked have lines of their own. */
static int lines_of(char *p, size_t length)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += sscanf(line, "%lx-%lx", &start, &end) == 2 && start < (unsigned long)p + length &&
		     end > (unsigned long)p;
	if (f)
		fclose(f);
	return n;
}

static void lock_some(void)
{
	char *p = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	printf("of one mapping: %d", lines_of(p, 12288));
	mlock(p + 4096, 4096);
	printf(", its middle locked: %d", lines_of(p, 12288));
	munlock(p + 4096, 4096);
	printf(", no longer: %d\n", lines_of(p, 12288));
	munmap(p, 12288);
}

static void *map(size_t length)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	printf("mmap of %zu: %s\n", length, p == MAP_FAILED ? strerror(errno) : "done");
	return p;
}

static void show_resident(unsigned char *p)
{
	unsigned char in_core[LIMIT / 2 / 4096];
	unsigned n = 0;

	if (mincore(p, LIMIT / 2, in_core))
		perror("mincore");
	for (unsigned i = 0; i < sizeof(in_core); i++)
		n += in_core[i] & 1;
	printf("of 32 pages %u are in memory\n", n);
}

static void try_all(const char *name, int flags)
{
	printf("%s: %s\n", name, mlockall(flags) ? strerror(errno) : "done");
	show_locked();
}

int main(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	struct rlimit limit = {LIMIT, LIMIT}, enough = {ENOUGH, ENOUGH};
	void *p;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (syscall(SYS_capset, &head, none) || setrlimit(RLIMIT_MEMLOCK, &enough))
		return 2;
	printf("all of a small program: %s\n", mlockall(MCL_CURRENT) ? strerror(errno) : "done");
	printf("munlockall: %d\n", munlockall());
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		return 2;
	lock_some();
	try_all("nothing", 0);
	try_all("current", MCL_CURRENT);
	try_all("current and future", MCL_CURRENT | MCL_FUTURE);
	try_all("future", MCL_FUTURE);
	p = map(LIMIT / 2);
	show_locked();
	map(LIMIT);
	show_resident(p);
	munmap(p, LIMIT / 2);
	show_locked();
	try_all("future, as it is used", MCL_FUTURE | MCL_ONFAULT);
	p = map(LIMIT / 2);
	show_locked();
	show_resident(p);
	*(volatile char *)p = 1;
	show_resident(p);
	map(LIMIT);
	munmap(p, LIMIT / 2);
	show_locked();
	p = mmap(NULL, LIMIT, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_DROPPABLE, -1, 0);
	printf("droppable memory: %d\n", p != MAP_FAILED);
	munmap(p, LIMIT);
	show_locked();
	printf("munlockall: %d\n", munlockall());
	map(LIMIT * 2);
	show_locked();
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_MEMLOCK, &limit);
	try_all("where nothing may be locked, future", MCL_FUTURE);
	return 0;
}
