/* The memory calls: fixed places, protection, moving, shrinking, the heap, errors; what /proc says about them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HUGE 0x200000ul

#define SHOW(expr)                                                      \
	do {                                                            \
		errno = 0;                                              \
		long r_ = (long)(expr);                                 \
		printf("%s: %s %d\n", #expr, r_ == -1 ? "-1" : "ok", errno); \
	} while (0)

/* Permissions of the mapping at p as /proc/self/maps has them. */
static const char *perms(void *p)
{
	static char found[8];
	unsigned long start, end;
	char line[512], flags[8];
	FILE *f = fopen("/proc/self/maps", "r");

	strcpy(found, "none");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %4s", &start, &end, flags) == 3 && start <= (unsigned long)p &&
		    (unsigned long)p < end)
			strcpy(found, flags);
	if (f)
		fclose(f);
	return found;
}

/* Of huge pages, where the machine has any: half of one. */
static void huge_segment(void)
{
	int id = shmget(IPC_PRIVATE, HUGE / 2, IPC_CREAT | SHM_HUGETLB | 0600);
	char *p, *q;

	if (id < 0) {
		printf("no huge pages\n");
		return;
	}
	p = shmat(id, NULL, 0);
	q = shmat(id, NULL, 0);
	printf("huge pages: %d %lu %lu\n", p != q, (unsigned long)p % HUGE, (unsigned long)q % HUGE);
	if (p != (char *)-1 && q != (char *)-1) {
		p[HUGE - 1] = 7;
		printf("%d\n", q[HUGE - 1]);
		SHOW(shmdt(p));
		SHOW(shmdt(q));
	}
	shmctl(id, IPC_RMID, NULL);
}

/* SHM_REMAP wants one. */
static void segment_without_address(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

	SHOW(shmat(id, NULL, SHM_REMAP));
	shmctl(id, IPC_RMID, NULL);
}

/* Its mode lets its owner read it only, who has no privilege to do more. */
static void executable_segment(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0400), other = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0500);
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	fflush(stdout);
	if (!fork()) {
		syscall(SYS_capset, &head, none);
		SHOW(shmat(id, NULL, SHM_RDONLY | SHM_EXEC));
		SHOW(shmat(id, (void *)1, SHM_RDONLY | SHM_EXEC));
		SHOW(shmat(id, NULL, SHM_RDONLY) == (void *)-1);
		printf("%s\n", perms(shmat(other, NULL, SHM_RDONLY | SHM_EXEC)));
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	shmctl(id, IPC_RMID, NULL);
	shmctl(other, IPC_RMID, NULL);
}

int main(void)
{
	char *p = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q, *r;
	unsigned char vec[4];
	int fd = memfd_create("file", 0);
	char *brk0;

	printf("%s\n", perms(p));
	SHOW(mprotect(p + 4096, 4096, PROT_NONE));
	printf("%s %s %s\n", perms(p), perms(p + 4096), perms(p + 8192));
	SHOW(munmap(p + 3 * 4096, 4096));
	printf("%s\n", perms(p + 3 * 4096));
	SHOW(mprotect(p, 5 * 4096, PROT_READ));
	printf("%s\n", perms(p));
	SHOW(mmap(p + 3 * 4096, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	printf("%s\n", perms(p + 3 * 4096));
	SHOW(mmap(p, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
	q = mmap((void *)0x200000000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("hint %d\n", q == (void *)0x200000000000);
	q[7] = 7;
	r = mremap(q, 4096, 3 * 4096, MREMAP_MAYMOVE);
	printf("grown %d %d\n", r[7], r == q);
	q = mremap(r, 3 * 4096, 3 * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)0x200000100000);
	printf("moved %d %d\n", q[7], q == (void *)0x200000100000);
	SHOW(mremap(p, 0, 4096, MREMAP_MAYMOVE));
	SHOW(mremap((void *)0x300000000000, 4096, 8192, MREMAP_MAYMOVE));
	SHOW(mremap((void *)0x300000000000, 4096, 8192, 0));
	SHOW(mremap((void *)0x300000000000, 0, 8192, MREMAP_MAYMOVE));
	SHOW(mremap((void *)0x300000000000, 4096, 4096, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
	r = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	printf("32bit %d\n", r != MAP_FAILED && (unsigned long)r < 0x80000000ul);
	SHOW(ftruncate(fd, 8192));
	r = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	strcpy(r, "shared text");
	q = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	printf("%s %s %s\n", q, perms(r), perms(q));
	SHOW(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	SHOW(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0));
	SHOW(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 17));
	SHOW(mmap((void *)123, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	SHOW(mmap((void *)-4096ul, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	SHOW(munmap((void *)1, 4096));
	SHOW(munmap(p, 0));
	SHOW(mprotect((void *)0x300000000000, 4096, PROT_READ));
	SHOW(mprotect((void *)1, 4096, PROT_READ));
	SHOW(mprotect((void *)0x300000000000, 4096, PROT_READ | PROT_GROWSUP));
	SHOW(mprotect(p, 4096, PROT_READ | PROT_GROWSUP));
	SHOW(mprotect((void *)0x300000000000, 4096, PROT_READ | PROT_GROWSUP | PROT_GROWSDOWN));
	SHOW(madvise(p, 4096, MADV_DONTNEED));
	SHOW(madvise(p, 4096, 9999));
	SHOW(mincore(r, 8192, vec));
	SHOW(msync(r, 4096, MS_SYNC));
	SHOW(mlock(r, 4096));
	SHOW(read(fd, (void *)0x300000000000, 10));
	SHOW(write(1, (void *)0x300000000000, 10));
	SHOW(open((char *)0x300000000000, O_RDONLY));
	huge_segment();
	segment_without_address();
	executable_segment();
	/* the heap */
	brk0 = sbrk(0);
	printf("sbrk %d", sbrk(10000) == brk0);
	memset(brk0, 1, 10000);
	printf(" %d", sbrk(0) == brk0 + 10000);
	printf(" %d", sbrk(-10000) == brk0 + 10000);
	printf(" %d %d\n", sbrk(0) == brk0, brk((void *)1));
	q = malloc(50 << 20);
	memset(q, 1, 50 << 20);
	printf("%d\n", q[(50 << 20) - 1]);
	free(q);
	return 0;
}
