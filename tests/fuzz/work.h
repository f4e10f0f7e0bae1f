/* What there is to count: something of every kind, none of it for long. */
#ifndef TESTS_FUZZ_WORK_H
#define TESTS_FUZZ_WORK_H

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink, watched;

static uint64_t __attribute__((noinline)) recurse(uint64_t n)
{
	return n < 2 ? n : recurse(n - 1) + recurse(n - 2);
}

static void work(uint32_t kind, uint32_t n)
{
	char block[4096];

	switch (kind % 8) {
	case 0:
		sink += recurse(5 + n % 8);
		break;
	case 1:
		for (uint32_t i = 0; i < n % 2000; i++)
			sink += i ^ sink >> 3;
		break;
	case 2:
		for (uint32_t i = 0; i < n % 50; i++)
			sink += (uint64_t)syscall(SYS_getppid);
		break;
	case 3:
		for (uint32_t i = 0; i < n % 100; i++)
			watched += i;
		break;
	case 4:
		memset(block, (int)n, sizeof(block));
		memcpy(block, block + 2048, n % 2048);
		sink += (unsigned char)block[n % 4096];
		break;
	case 5:
		raise(n % 2 ? SIGUSR1 : SIGUSR2);
		break;
	case 6: {
		char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE | (n % 2 ? PROT_EXEC : 0),
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (uint32_t i = 0; i < 65536; i += 4096)
			p[i] = (char)n;
		munmap(p, 65536);
		break;
	}
	default: {
		struct timespec ts = {0, n % 300000};

		nanosleep(&ts, NULL);
		break;
	}
	}
}

#endif
