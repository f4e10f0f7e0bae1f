/* A function that is overwritten before each call. */
#include "tests/count/region.h"
#include <sys/mman.h>

static unsigned char template[] = {
	0xb8, 0, 0, 0, 0, /* mov $0, %eax */
	0x83, 0xc0, 5,	  /* add $5, %eax */
	0x90, 0x90,	  /* nop; nop, sometimes inc %eax */
	0xc3,
};

int main(void)
{
	int fd = region_open();
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned sum = 0;

	if (code == MAP_FAILED)
		return 77;
	memcpy(code, template, sizeof(template));
	region_begin(fd, 1);
	for (unsigned i = 0; i < 300; i++) {
		code[1] = i;
		if (i % 3 == 1) {
			code[8] = 0xff;
			code[9] = 0xc0;
		} else if (i % 3 == 2) {
			code[8] = code[9] = 0x90;
		}
		sum = sum * 3 + ((unsigned (*)(void))code)();
	}
	region_end(fd, 1);
	printf("%u\n", sum);
	region_print(1);
	return 0;
}
