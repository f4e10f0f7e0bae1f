/*
 * The six status flags and the direction flag survive every kind of control transfer: a compiler may keep them live
 * across any of them, indirect jumps and returns included.
 */
#include <stdio.h>

/* The register that pcl steals is the one to try; and any other. */
#ifndef S
#define S "r11"
#endif

static unsigned long table[2];

#define KEEPS(name, text)                                                                                              \
	for (unsigned long set = 0; set < 128; set++) {                                                                \
		unsigned long in = 0x202 | (set & 1) | (set & 2) << 1 | (set & 4) << 2 | (set & 24) << 3 |             \
				   (set & 96) << 5,                                                                    \
			      out;                                                                                     \
		__asm__ volatile("sub $256, %%rsp\n\tlea 7f(%%rip), %%" S "\n\tmov %%" S                               \
				 ", %2\n\tpush %1\n\tpopfq\n\t" text                                                   \
				 "\n7:\n\tpushfq\n\tpop %0\n\tcld\n\tadd $256, %%rsp"                                  \
				 : "=&r"(out)                                                                          \
				 : "r"(in), "m"(table[1])                                                              \
				 : S, "r14", "rcx", "memory", "cc");                                                   \
		if ((out ^ in) & 0xcd5) {                                                                              \
			printf("%s: flags %lx became %lx\n", name, in, out);                                           \
			failed = 1;                                                                                    \
			break;                                                                                         \
		}                                                                                                      \
	}

int main(void)
{
	int failed = 0;

	KEEPS("nothing", "");
	KEEPS("jmp", "jmp 8f\n8:");
	KEEPS("jmp *reg", "jmp *%%" S "");
	KEEPS("jmp *mem", "jmp *%2");
	KEEPS("jmp *(reg base)", "lea %2, %%" S "\n\tjmp *(%%" S ")");
	KEEPS("call, ret", "call 8f\n\tjmp 7f\n8:\tret");
	KEEPS("call *reg, ret", "lea 8f(%%rip), %%r14\n\tcall *%%r14\n\tjmp 7f\n8:\tret");
	KEEPS("call *(rsp)", "lea 8f(%%rip), %%" S "\n\tmov %%" S ", (%%rsp)\n\tcall *(%%rsp)\n\tjmp 7f\n8:\tret");
	KEEPS("ret imm16",
	      "call 8f\n\tjmp 7f\n8:\tlea -8(%%rsp), %%rsp\n\tmov 8(%%rsp), %%" S "\n\tmov %%" S ", (%%rsp)\n\tret $8\n"
	      "9:");
	KEEPS("push, ret", "push %%" S "\n\tret");
	KEEPS("jo", "jo 8f\n8:");
	KEEPS("jc", "jc 8f\n\tnop\n8:");
	KEEPS("jz", "jz 8f\n\tnop\n8:");
	KEEPS("jle", "jle 8f\n\tnop\n8:");
	KEEPS("jrcxz", "mov $0, %%ecx\n\tjrcxz 8f\n\tnop\n8:");
	KEEPS("loop", "mov $3, %%ecx\n8:\tloop 8b");
	KEEPS("loope", "mov $3, %%ecx\n8:\tloope 8b");
	KEEPS("loopne", "mov $3, %%ecx\n8:\tloopne 8b");
	KEEPS("cpuid", "push %%rbx\n\tmov %%rax, %%r14\n\tmov %%rdx, %%" S "\n\tmov $0, %%eax\n\tcpuid\n\tpop %%rbx\n\t"
		       "mov %%r14, %%rax\n\tmov %%" S ", %%rdx");
	KEEPS("syscall", "push %%rax\n\tpush %%r11\n\tmov $39, %%eax\n\tsyscall\n\tpop %%r11\n\tpop %%rax");
	return failed;
}
