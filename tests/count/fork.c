/* A tree of processes; parent and children counted together, and a child by itself. */
#include "tests/count/region.h"
#include <stdlib.h>
#include <sys/wait.h>

static __attribute__((noinline)) unsigned work(unsigned x)
{
	for (int i = 0; i < 500; i++)
		x = x & 1 ? x * 3 + 1 : x / 2;
	return x;
}

int main(void)
{
	int status, sum = 0;

	for (int i = 0; i < 3; i++) {
		if (!fork()) {
			int fd = region_open();

			region_begin(fd, i);
			work(i + 27);
			region_end(fd, i);
			region_print(i);
			if (i == 2 && !fork())
				_exit(work(3) & 7);
			if (i == 2) {
				wait(&status);
				_exit(WEXITSTATUS(status) + 20);
			}
			_exit(work(i) & 15);
		}
		wait(&status);
		sum = sum * 7 + WEXITSTATUS(status);
	}
	printf("%d\n", sum);
	return 0;
}
