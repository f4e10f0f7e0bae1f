/*
 * push, pop, enter, leave and ret in their odd forms: rsp and r15 as operands and as bases, memory to memory. Not PIE:
 * 32-bit addresses of its data are used.
 * cflags: -no-pie
 */
#include <stdio.h>
#include <string.h>

static unsigned long m[16];

#define EXPECT(name, expected, text)                                                                             \
	do {                                                                                                     \
		unsigned long seen;                                                                              \
		memset(m, 0, sizeof(m));                                                                         \
		__asm__ volatile("mov %%rsp, %%rbx\n\tsub $256, %%rsp\n\tlea %1, %%r15\n\t" text "\n\tmov %%rbx, %%rsp" \
				 : "=&a"(seen), "+m"(m)                                                           \
				 :                                                                               \
				 : "rbx", "rcx", "rdx", "r14", "r15", "memory", "cc");                           \
		if (seen != (unsigned long)(expected)) {                                                         \
			printf("%s: %lx, not %lx\n", name, seen, (unsigned long)(expected));                     \
			failed = 1;                                                                              \
		}                                                                                                \
	} while (0)

int main(void)
{
	int failed = 0;

	EXPECT("push rsp pushes the old value", 8, "push %%rsp\n\tpop %0\n\tsub %%rsp, %0\n\tadd $8, %0");
	EXPECT("pop rsp", 0x1234, "mov $0x1234, %%edx\n\tpush %%rdx\n\tpop %%rsp\n\tmov %%rsp, %0");
	EXPECT("push (r15)", 77, "movq $77, (%%r15)\n\tpush (%%r15)\n\tpop %0");
	EXPECT("pop 8(r15)", 78, "push $78\n\tpop 8(%%r15)\n\tmov 8(%%r15), %0");
	EXPECT("pop (rsp)", 79, "push $1\n\tpush $79\n\tpop (%%rsp)\n\tpop %0");
	EXPECT("push r15, pop r15", 80, "push $80\n\tpop %%r15\n\tpush %%r15\n\tpop %0");
	EXPECT("push 8(rsp)", 81, "push $81\n\tpush $82\n\tpush 8(%%rsp)\n\tpop %0");
	EXPECT("push imm sign", -1, "push $-1\n\tpop %0");
	EXPECT("pushw", 0x12345678, "mov $0x5678, %%ecx\n\tmov $0x1234, %%edx\n\tpushw %%dx\n\tpushw %%cx\n\tmov (%%rsp), %%eax");
	EXPECT("popw r15w", 0x9999, "mov $0x9999, %%edx\n\txor %%r15d, %%r15d\n\tpushw %%dx\n\tpopw %%r15w\n\tmov %%r15, %0");
	EXPECT("xchg r15, (r15)", 0, "mov %%r15, %%rdx\n\txchg %%r15, (%%r15)\n\tmov (%%rdx), %0\n\tsub %%rdx, %0\n\tadd %%r15, %0");
	EXPECT("xadd r15, (r15)", 5, "movq $5, (%%r15)\n\tmov %%r15, %%rdx\n\txadd %%r15, (%%r15)\n\tmov (%%rdx), %0\n\t"
				     "sub %%rdx, %0\n\tcmp $5, %%r15\n\tje 1f\n\tmov $99, %0\n1:");
	EXPECT("mov r15, (r15)", 0, "mov %%r15, (%%r15)\n\tmov (%%r15), %0\n\tsub %%r15, %0");
	EXPECT("mov (r15), r15", 6, "movq $6, (%%r15)\n\tmov (%%r15), %%r15\n\tmov %%r15, %0");
	EXPECT("mov (r15), r15d clears the upper half", 0xffffffff, "movq $-1, (%%r15)\n\tmov (%%r15), %%r15d\n\tmov %%r15, %0");
	EXPECT("add (r15), r15", 7, "mov %%r15, %%rdx\n\tmovq $7, (%%r15)\n\tadd (%%r15), %%r15\n\tmov %%r15, %0\n\tsub %%rdx, %0");
	EXPECT("lea (r15,r15)", 30, "mov $10, %%r15d\n\tlea (%%r15,%%r15,2), %0");
	EXPECT("lea r15d base, 32-bit", 30, "movabs $0x50000000a, %%r15\n\tlea (%%r15d,%%r15d,2), %%eax");
	EXPECT("addr32 load", 9, "movq $9, 16(%%r15)\n\taddr32 mov 16(%%r15d), %0");
	EXPECT("enter 16", 16, "mov %%rbp, %%r14\n\tmov $7, %%ebp\n\tmov %%rsp, %%rdx\n\tenter $16, $0\n\tmov %%rbp, %0\n\tsub %%rsp, %0\n\tleave\n\tmov %%r14, %%rbp\n\t"
			       "cmp %%rsp, %%rdx\n\tje 1f\n\tmov $99, %0\n1:");
	EXPECT("leave with r15", 83, "mov %%rbp, %%r14\n\tlea 64(%%r15), %%rbp\n\tmovq $83, (%%rbp)\n\tleave\n\tmov %%rbp, %0\n\t"
				     "mov %%r14, %%rbp");
	EXPECT("ret 16", 0, "mov %%rsp, %%rdx\n\tpush $1\n\tpush $2\n\tlea 1f(%%rip), %%r15\n\tpush %%r15\n\tret $16\n1:\t"
			    "mov %%rsp, %0\n\tsub %%rdx, %0");
	EXPECT("call and stack switch", 84, "mov %%rsp, %%rdx\n\tlea 120(%%r15), %%rsp\n\tcall 1f\n\tmov %%rdx, %%rsp\n\tjmp 2f\n"
					    "1:\tmov $84, %0\n\tret\n2:");
	EXPECT("cmpxchg r15 equal", 5, "movq $5, (%%r15)\n\tmov $5, %0\n\tmov %%r15, %%rdx\n\tmov $6, %%ecx\n\tlock cmpxchg %%rcx, (%%r15)\n\t"
				       "jne 1f\n\tcmpq $6, (%%rdx)\n\tje 2f\n1:\tmov $99, %0\n2:");
	EXPECT("bts r15 in memory", 1ul << 33, "mov %%r15, %%rdx\n\tmov $97, %%r15d\n\tlock bts %%r15, (%%rdx)\n\tmov 8(%%rdx), %0");
	EXPECT("bt through r15", 1, "movq $8, 16(%%r15)\n\tmov $131, %%edx\n\tbt %%rdx, (%%r15)\n\tsetc %%al\n\tmovzbl %%al, %%eax");
	EXPECT("movabs moffs", 85, "movq $85, %1\n\tmov %1, %0");
	EXPECT("cmov r15 not taken, 32 bits", 0x22222222, "movabs $0x1111111122222222, %%r15\n\txor %%edx, %%edx\n\tcmp $1, %%edx\n\t"
							  "cmove %%edx, %%r15d\n\tmov %%r15, %0");
	EXPECT("xlat with r15 saved", 3, "movb $3, 5(%%r15)\n\tpush %%rbx\n\tmov %%r15, %%rbx\n\tmov $5, %%eax\n\txlat\n\tpop %%rbx\n\t"
					 "movzbl %%al, %%eax");
	EXPECT("fs base", 0, "mov %%fs:0, %%rdx\n\txor %%r15d, %%r15d\n\tmov %%fs:(%%r15), %0\n\tsub %%rdx, %0");
	EXPECT("rdfsbase r15", 0, "rdfsbase %%r15\n\tmov %%fs:0, %0\n\tsub %%r15, %0");
	return failed;
}
