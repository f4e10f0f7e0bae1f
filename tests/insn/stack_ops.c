/*
 * push, pop, enter, leave and ret in their odd forms: rsp and the chosen register as operands and as bases, memory to
 * memory. Not PIE: 32-bit addresses of its data are used.
 * cflags: -no-pie
 */
#include <stdio.h>
#include <string.h>

/* The register that pcl steals is the one to try; and any other. */
#ifndef S
#define S "r11"
#endif

static unsigned long m[16];

#define EXPECT(name, expected, text)                                                                                   \
	do {                                                                                                           \
		unsigned long seen;                                                                                    \
		memset(m, 0, sizeof(m));                                                                               \
		__asm__ volatile("mov %%rsp, %%rbx\n\tsub $256, %%rsp\n\tlea %1, %%" S "\n\t" text                     \
				 "\n\tmov %%rbx, %%rsp"                                                                \
				 : "=&a"(seen), "+m"(m)                                                                \
				 :                                                                                     \
				 : "rbx", "rcx", "rdx", "r11", "r14", "r15", "memory", "cc");                          \
		if (seen != (unsigned long)(expected)) {                                                               \
			printf("%s: %lx, not %lx\n", name, seen, (unsigned long)(expected));                           \
			failed = 1;                                                                                    \
		}                                                                                                      \
	} while (0)

int main(void)
{
	int failed = 0;

	EXPECT("push rsp pushes the old value", 8, "push %%rsp\n\tpop %0\n\tsub %%rsp, %0\n\tadd $8, %0");
	EXPECT("pop rsp", 0x1234, "mov $0x1234, %%edx\n\tpush %%rdx\n\tpop %%rsp\n\tmov %%rsp, %0");
	EXPECT("push (reg)", 77, "movq $77, (%%" S ")\n\tpush (%%" S ")\n\tpop %0");
	EXPECT("pop 8(reg)", 78, "push $78\n\tpop 8(%%" S ")\n\tmov 8(%%" S "), %0");
	EXPECT("pop (rsp)", 79, "push $1\n\tpush $79\n\tpop (%%rsp)\n\tpop %0");
	EXPECT("push reg, pop reg", 80, "push $80\n\tpop %%" S "\n\tpush %%" S "\n\tpop %0");
	EXPECT("push 8(rsp)", 81, "push $81\n\tpush $82\n\tpush 8(%%rsp)\n\tpop %0");
	EXPECT("push imm sign", -1, "push $-1\n\tpop %0");
	EXPECT("pushw", 0x12345678,
	       "mov $0x5678, %%ecx\n\tmov $0x1234, %%edx\n\tpushw %%dx\n\tpushw %%cx\n\tmov (%%rsp), %%eax");
	EXPECT("popw regw", 0x9999,
	       "mov $0x9999, %%edx\n\txor %%" S "d, %%" S "d\n\tpushw %%dx\n\tpopw %%" S "w\n\tmov %%" S ", %0");
	EXPECT("xchg reg, (reg)", 0,
	       "mov %%" S ", %%rdx\n\txchg %%" S ", (%%" S ")\n\tmov (%%rdx), %0\n\tsub %%rdx, %0\n\tadd %%" S ", %0");
	EXPECT("xadd reg, (reg)", 5,
	       "movq $5, (%%" S ")\n\tmov %%" S ", %%rdx\n\txadd %%" S ", (%%" S ")\n\tmov (%%rdx), %0\n\t"
	       "sub %%rdx, %0\n\tcmp $5, %%" S "\n\tje 1f\n\tmov $99, %0\n1:");
	EXPECT("mov reg, (reg)", 0, "mov %%" S ", (%%" S ")\n\tmov (%%" S "), %0\n\tsub %%" S ", %0");
	EXPECT("mov (reg), reg", 6, "movq $6, (%%" S ")\n\tmov (%%" S "), %%" S "\n\tmov %%" S ", %0");
	EXPECT("mov (reg), regd clears the upper half", 0xffffffff,
	       "movq $-1, (%%" S ")\n\tmov (%%" S "), %%" S "d\n\tmov %%" S ", %0");
	EXPECT("add (reg), reg", 7,
	       "mov %%" S ", %%rdx\n\tmovq $7, (%%" S ")\n\tadd (%%" S "), %%" S "\n\tmov %%" S ", %0\n\t"
	       "sub %%rdx, %0");
	EXPECT("lea (reg,reg)", 30, "mov $10, %%" S "d\n\tlea (%%" S ",%%" S ",2), %0");
	EXPECT("lea regd base, 32-bit", 30, "movabs $0x50000000a, %%" S "\n\tlea (%%" S "d,%%" S "d,2), %%eax");
	EXPECT("addr32 load", 9, "movq $9, 16(%%" S ")\n\taddr32 mov 16(%%" S "d), %0");
	EXPECT("enter 16", 16,
	       "mov %%rbp, %%r14\n\tmov $7, %%ebp\n\tmov %%rsp, %%rdx\n\tenter $16, $0\n\tmov %%rbp, %0\n\t"
	       "sub %%rsp, %0\n\tleave\n\tmov %%r14, %%rbp\n\tcmp %%rsp, %%rdx\n\tje 1f\n\tmov $99, %0\n1:");
	EXPECT("leave with reg", 83,
	       "mov %%rbp, %%r14\n\tlea 64(%%" S "), %%rbp\n\tmovq $83, (%%rbp)\n\tleave\n\tmov %%rbp, %0\n\t"
	       "mov %%r14, %%rbp");
	EXPECT("ret 16", 0,
	       "mov %%rsp, %%rdx\n\tpush $1\n\tpush $2\n\tlea 1f(%%rip), %%" S "\n\tpush %%" S "\n\tret $16\n"
	       "1:\tmov %%rsp, %0\n\tsub %%rdx, %0");
	EXPECT("call and stack switch", 84,
	       "mov %%rsp, %%rdx\n\tlea 120(%%" S "), %%rsp\n\tcall 1f\n\tmov %%rdx, %%rsp\n\tjmp 2f\n"
	       "1:\tmov $84, %0\n\tret\n2:");
	EXPECT("cmpxchg reg equal", 5,
	       "movq $5, (%%" S ")\n\tmov $5, %0\n\tmov %%" S ", %%rdx\n\tmov $6, %%ecx\n\t"
	       "lock cmpxchg %%rcx, (%%" S ")\n\tjne 1f\n\tcmpq $6, (%%rdx)\n\tje 2f\n1:\tmov $99, %0\n2:");
	EXPECT("bts reg in memory", 1ul << 33,
	       "mov %%" S ", %%rdx\n\tmov $97, %%" S "d\n\tlock bts %%" S ", (%%rdx)\n\tmov 8(%%rdx), %0");
	EXPECT("bt through reg", 1,
	       "movq $8, 16(%%" S ")\n\tmov $131, %%edx\n\tbt %%rdx, (%%" S ")\n\tsetc %%al\n\tmovzbl %%al, %%eax");
	EXPECT("movabs moffs", 85, "movq $85, %1\n\tmov %1, %0");
	EXPECT("cmov reg not taken, 32 bits", 0x22222222,
	       "movabs $0x1111111122222222, %%" S "\n\txor %%edx, %%edx\n\tcmp $1, %%edx\n\tcmove %%edx, %%" S "d\n\t"
	       "mov %%" S ", %0");
	EXPECT("xlat with reg saved", 3,
	       "movb $3, 5(%%" S ")\n\tpush %%rbx\n\tmov %%" S ", %%rbx\n\tmov $5, %%eax\n\txlat\n\tpop %%rbx\n\t"
	       "movzbl %%al, %%eax");
	EXPECT("fs base", 0, "mov %%fs:0, %%rdx\n\txor %%" S "d, %%" S "d\n\tmov %%fs:(%%" S "), %0\n\tsub %%rdx, %0");
	EXPECT("rdfsbase reg", 0, "rdfsbase %%" S "\n\tmov %%fs:0, %0\n\tsub %%" S ", %0");
	return failed;
}
