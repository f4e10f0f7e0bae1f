/* An interpreter's switch: indirect jumps. */
#include <stdio.h>

static const unsigned char program[] = { 0, 3, 1, 5, 4, 2, 6, 1, 0, 7, 3, 3, 5, 2, 8, 1, 4, 6, 9 };

int main(void)
{
	unsigned long acc = 1, rounds = 70000000;
	const unsigned char *pc = program;

	for (;;) {
		switch (*pc++) {
		case 0: acc += 7; break;
		case 1: acc ^= acc >> 3; break;
		case 2: acc *= 5; break;
		case 3: acc -= rounds; break;
		case 4: acc = acc << 1 | acc >> 63; break;
		case 5: acc += 0x1234567; break;
		case 6: acc ^= 0xff00ff; break;
		case 7: acc = -acc; break;
		case 8: acc |= 1; break;
		case 9:
			if (!--rounds) {
				printf("%lu\n", acc);
				return 0;
			}
			pc = program;
		}
	}
}
