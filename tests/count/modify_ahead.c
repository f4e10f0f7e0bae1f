/* Code that overwrites an instruction a few bytes ahead of itself, in the same straight line. */
#include "tests/count/region.h"
#include <stdlib.h>
#include <sys/mman.h>

/*
 * f(n): mov %dil, 1+there(%rip); there: mov $imm8, %al; then a one-byte instruction that is nop or ret, also just
 * written; movzbl %al, %eax; ret
 */
static const unsigned char template[] = {
	0x40, 0x88, 0x3d, 8, 0, 0, 0,	/* 0: mov %dil, 8(%rip) -> 15 */
	0x40, 0x88, 0x35, 2, 0, 0, 0,	/* 7: mov %sil, 2(%rip) -> 16 */
	0xb0, 0,			/* 14: mov $0, %al */
	0x90,				/* 16: nop or ret */
	0x0f, 0xb6, 0xc0,		/* 17: movzbl %al, %eax */
	0xc3,				/* 20: ret */
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
	for (unsigned i = 0; i < 200; i++)
		sum = sum * 3 + (((unsigned (*)(int, int))code)(i & 0x7f, i % 5 ? 0x90 : 0xc3) & 0xff);
	region_end(fd, 1);
	printf("%u\n", sum);
	region_print(1);
	return 0;
}
