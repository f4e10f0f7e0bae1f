/* Addresses that the program can see are its own: return addresses, RIP-relative ones, what syscall leaves in rcx. */
#include <stdio.h>

/* The register that pcl steals is the one to try; and any other. */
#ifndef S
#define S "r11"
#endif

#define CHECK(name, text)                                                                                         \
	do {                                                                                                      \
		unsigned long seen, expected;                                                                     \
		__asm__ volatile("sub $256, %%rsp\n\tlea 7f(%%rip), %1\n\t" text "\n\tadd $256, %%rsp"             \
				 : "=&a"(seen), "=&b"(expected)                                                   \
				 :                                                                                \
				 : "rcx", "r11", "r15", "rdx", "memory", "cc");                                   \
		if (seen != expected) {                                                                           \
			printf("%s: %lx, not %lx\n", name, seen, expected);                                       \
			failed = 1;                                                                               \
		}                                                                                                 \
	} while (0)

int main(void)
{
	int failed = 0;

	for (int i = 0; i < 100; i++) {
		CHECK("call next", "call 7f\n7:\tpop %0");
		CHECK("call *reg",
		      "lea 8f(%%rip), %%" S "\n\tcall *%%" S "\n7:\tjmp 9f\n8:\tmov (%%rsp), %0\n\tret\n9:");
		CHECK("call *mem", "lea 8f(%%rip), %%" S "\n\tpush %%" S "\n\tmov %%rsp, %%" S "\n\tcall *(%%" S
				   ")\n7:\tpop %%rdx\n\tjmp 9f\n"
				   "8:\tmov (%%rsp), %0\n\tret\n9:");
		CHECK("call *8(rsp)", "lea 8f(%%rip), %%" S "\n\tmov %%" S ", 8(%%rsp)\n\tcall *8(%%rsp)\n7:\tjmp 9f\n"
				      "8:\tmov (%%rsp), %0\n\tret\n9:");
		CHECK("below the stack after ret", "call 8f\n7:\tmov -8(%%rsp), %0\n\tjmp 9f\n8:\tret\n9:");
		CHECK("syscall's rcx", "mov $39, %%eax\n\tsyscall\n7:\tmov %%rcx, %0");
		CHECK("lea in reg", "lea 7f(%%rip), %%" S "\n7:\tmov %%" S ", %0");
		CHECK("push of a label", "lea 7f(%%rip), %%" S "\n\tpush %%" S "\n\tpop %0\n7:");
	}
	return failed;
}
