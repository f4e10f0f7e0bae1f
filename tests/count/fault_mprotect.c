/*
 * Faults that the handler repairs, so that the same instruction is executed again: page protection, a file that grows.
 */
#include "tests/count/region.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGES 20

static char *area, *file;
static int faults, memfd;

static void on_fault(int sig, siginfo_t *si, void *context)
{
	faults++;
	if (sig == SIGBUS) {
		if (ftruncate(memfd, 4096))
			_exit(1);
		return;
	}
	mprotect((void *)((unsigned long)si->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

int main(void)
{
	int fd = region_open();
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	unsigned long sum = 0;

	area = mmap(NULL, PAGES * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memfd = memfd_create("grows", 0);
	file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	region_begin(fd, 1);
	for (int i = 0; i < PAGES - 4; i++) {
		sum += 3;
		area[i * 4096 + i * 17] += i;
		sum += area[i * 4096 + i * 17];
	}
	/* A string instruction that faults on the way: one instruction. */
	__asm__ volatile("rep movsb"
			 :
			 : "S"(area), "D"(area + (PAGES - 4) * 4096 - 10), "c"(3 * 4096L)
			 : "memory");
	file[5] = 1;
	region_end(fd, 1);
	printf("%lu %d %d\n", sum, faults, file[5]);
	region_print(1);
	return 0;
}
