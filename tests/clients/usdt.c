/*
 * A program with a statically defined probe (USDT), as sys/sdt.h of systemtap makes them: a nop, a note that says where
 * it is and where its arguments are, and a semaphore. It says in how many rounds of 100 somebody was listening.
 */
#include <stdio.h>

unsigned short pcl_test_loop_semaphore __attribute__((section(".probes")));

__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n"
	".popsection\n");

static void probe(long round, int half, const char *name)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte pcl_test_loop_semaphore\n"
			 ".asciz \"pcl_test\"\n.asciz \"loop\"\n.asciz \"-8@%0 -4@%1 8@%2\"\n"
			 "994: .balign 4\n.popsection\n"
			 :
			 : "r"(round), "r"(half), "r"(name));
}

int main(void)
{
	int listened = 0;

	for (long i = 0; i < 100; i++) {
		listened += *(volatile unsigned short *)&pcl_test_loop_semaphore != 0;
		probe(i, (int)(i / 2) - 10, i % 2 ? "odd" : "even");
	}
	printf("%d\n", listened);
	return 0;
}
