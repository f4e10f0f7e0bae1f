/* Addresses that the program can see are its own: return addresses, RIP-relative ones, what syscall leaves in rcx. */
#include <stdio.h>

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
		CHECK("call *r15", "lea 8f(%%rip), %%r15\n\tcall *%%r15\n7:\tjmp 9f\n8:\tmov (%%rsp), %0\n\tret\n9:");
		CHECK("call *mem", "lea 8f(%%rip), %%r15\n\tpush %%r15\n\tmov %%rsp, %%r15\n\tcall *(%%r15)\n7:\tpop %%rdx\n\tjmp 9f\n"
				   "8:\tmov (%%rsp), %0\n\tret\n9:");
		CHECK("call *8(rsp)", "lea 8f(%%rip), %%r15\n\tmov %%r15, 8(%%rsp)\n\tcall *8(%%rsp)\n7:\tjmp 9f\n"
				      "8:\tmov (%%rsp), %0\n\tret\n9:");
		CHECK("below the stack after ret", "call 8f\n7:\tmov -8(%%rsp), %0\n\tjmp 9f\n8:\tret\n9:");
		CHECK("syscall's rcx", "mov $39, %%eax\n\tsyscall\n7:\tmov %%rcx, %0");
		CHECK("lea in r15", "lea 7f(%%rip), %%r15\n7:\tmov %%r15, %0");
		CHECK("push of a label", "lea 7f(%%rip), %%r15\n\tpush %%r15\n\tpop %0\n7:");
	}
	return failed;
}
