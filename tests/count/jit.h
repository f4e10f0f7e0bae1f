/* A tiny code generator, for the programs that make their code as they go. */
#ifndef TESTS_COUNT_JIT_H
#define TESTS_COUNT_JIT_H

#include <string.h>

/* unsigned f(unsigned x): ops instructions that depend on seed; returns the length. */
static inline int jit_function(unsigned char *p, unsigned seed, int ops)
{
	unsigned char *start = p;

	*p++ = 0x89, *p++ = 0xf8; /* mov %edi, %eax */
	for (int i = 0; i < ops; i++) {
		seed = seed * 1664525 + 1013904223;
		switch (seed >> 30) {
		case 0:
			*p++ = 0x05; /* add $imm32, %eax */
			memcpy(p, &seed, 4);
			p += 4;
			break;
		case 1:
			*p++ = 0x35; /* xor $imm32, %eax */
			memcpy(p, &seed, 4);
			p += 4;
			break;
		case 2:
			*p++ = 0xa8, *p++ = 1 << (seed & 7); /* test $bit, %al */
			*p++ = 0x74, *p++ = 2;		     /* je +2 */
			*p++ = 0xff, *p++ = 0xc0;	     /* inc %eax */
			break;
		case 3:
			*p++ = 0xc1, *p++ = 0xc0, *p++ = 3 + (seed & 7); /* rol $n, %eax */
			break;
		}
	}
	*p++ = 0xc3;
	return p - start;
}

#endif
