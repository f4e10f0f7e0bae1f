/*
 * A program that makes code all the time, calls it once, and throws it away: 400,000 functions, at addresses that were
 * used before and at new ones. Each returns what it should, and the process does not grow with what is gone.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define ROUNDS 1600
#define FUNCTIONS 256 /* of one page */
#define PAGE 4096ul
#define GROWS_MAX 65536 /* KiB; half of that is seen */

static long resident(void)
{
	char line[256];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %ld", &kib);
	if (f)
		fclose(f);
	return kib;
}

static int round_at(char *hint, uint32_t value)
{
	char *page = mmap(hint, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int wrong = 0;

	if (page == MAP_FAILED)
		return 1;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov $value, %eax; ret */
		uint32_t returned = value + i;

		memcpy(code + 1, &returned, sizeof(returned));
		memcpy(page + i * (PAGE / FUNCTIONS), code, sizeof(code));
	}
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		wrong += ((uint32_t (*)(void))(page + i * (PAGE / FUNCTIONS)))() != value + i;
	munmap(page, PAGE);
	return wrong;
}

int main(void)
{
	char *new = (char *)0x200000000000;
	long before = resident(), grown;
	int wrong = 0;

	for (uint32_t i = 0; i < ROUNDS; i++)
		wrong += round_at(i % 2 ? new + i * PAGE : NULL, i * FUNCTIONS);
	grown = resident() - before;
	printf("%d wrong\n", wrong);
	if (grown > GROWS_MAX)
		printf("grown by %ld KiB\n", grown);
	return 0;
}
