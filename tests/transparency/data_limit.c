/*
 * Code that is rewritten while there is no more private memory to be had (RLIMIT_DATA), and while the limit is lower
 * than what is in use.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGES 600

static unsigned char *code;

static int run(void)
{
	int sum = 0;

	for (int i = 0; i < PAGES; i++)
		sum += ((int (*)(void))(void *)(code + i * 4096))();
	return sum;
}

static void limit(unsigned long bytes)
{
	struct rlimit lim = {bytes, bytes};

	if (setrlimit(RLIMIT_DATA, &lim))
		perror("setrlimit");
}

int main(void)
{
	static const unsigned char text[] = {0xb8, 1, 0, 0, 0, 0xc3}; /* mov $1, %eax; ret */
	char all[4096], *more;

	setvbuf(stdout, all, _IOFBF, sizeof(all));
	code = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < PAGES; i++)
		memcpy(code + i * 4096, text, sizeof(text));
	printf("%d\n", run());
	limit(64 << 20);
	while ((more = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED)
		*more = 1;
	while (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		;
	for (int i = 0; i < PAGES; i++)
		code[i * 4096 + 1] = 2;
	printf("%d\n", run());
	limit(0);
	for (int i = 0; i < PAGES; i++)
		code[i * 4096 + 1] = 3;
	printf("%d\n", run());
	return 0;
}
