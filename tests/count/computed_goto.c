/* An interpreter with computed goto. */
#include "tests/count/region.h"

enum { ADD, SUB, SHIFT, LOAD, JUMP_UNLESS, HALT };

static const unsigned char program[] = { LOAD, 7, ADD, 3, SHIFT, 3, SUB, 1, ADD, 9, JUMP_UNLESS, 2, HALT };

static __attribute__((noinline)) unsigned interpret(const unsigned char *pc, int rounds)
{
	static const void *const label[] = { &&add, &&sub, &&shift, &&load, &&jump, &&halt };
	const unsigned char *start = pc;
	unsigned acc = 0;

#define NEXT goto *label[*pc++]
	NEXT;
add:
	acc += *pc++;
	NEXT;
sub:
	acc -= *pc++;
	NEXT;
shift:
	acc = acc << 3 | acc >> 29;
	pc++;
	NEXT;
load:
	acc = *pc++;
	NEXT;
jump:
	pc = --rounds ? start + *pc : pc + 1;
	NEXT;
halt:
	return acc;
}

int main(void)
{
	int fd = region_open();
	unsigned x;

	region_begin(fd, 1);
	x = interpret(program, 700);
	region_end(fd, 1);
	printf("%u\n", x);
	region_print(1);
	return 0;
}
