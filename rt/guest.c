/*
 * Access to guest memory that may fault; see guest.h.
 *
 * All accesses are in one assembly function, so that the fault handler knows them by their address. Copies of exactly
 * 1, 2, 4 and 8 bytes are one access each, which makes them atomic if aligned (futex words, robust lists).
 */
#include "abi/types.h"
#include "rt/guest.h"
#include "rt/string.h"

#define EFAULT_RESULT (-14)
#define ENAMETOOLONG_RESULT (-36)
#define STR_CHUNK 64

/*
 * rdi = destination, rsi = source, rdx = size. Returns 0 or -14. Between begin and end the stack pointer is as on
 * entry.
 */
int guest_copy(void *dst, const void *src, size_t n) __attribute__((visibility("hidden")));
extern const char guest_copy_begin[] __attribute__((visibility("hidden")));
extern const char guest_copy_end[] __attribute__((visibility("hidden")));
extern const char guest_copy_fault[] __attribute__((visibility("hidden")));

__asm__(".pushsection .text.guest_copy, \"ax\", @progbits\n"
	".p2align 5\n"
	".globl guest_copy, guest_copy_begin, guest_copy_end, guest_copy_fault, guest_exchange\n"
	".hidden guest_copy, guest_copy_begin, guest_copy_end, guest_copy_fault, guest_exchange\n"
	".type guest_copy, @function\n"
	"guest_copy:\n"
	"guest_copy_begin:\n"
	"	xorl %eax, %eax\n"
	"	cmpq $128, %rdx\n"
	"	ja 8f\n"
	"1:	cmpq $8, %rdx\n"
	"	jb 2f\n"
	"	movq (%rsi), %rcx\n"
	"	movq %rcx, (%rdi)\n"
	"	addq $8, %rsi\n"
	"	addq $8, %rdi\n"
	"	subq $8, %rdx\n"
	"	jmp 1b\n"
	"2:	testb $4, %dl\n"
	"	jz 3f\n"
	"	movl (%rsi), %ecx\n"
	"	movl %ecx, (%rdi)\n"
	"	addq $4, %rsi\n"
	"	addq $4, %rdi\n"
	"3:	testb $2, %dl\n"
	"	jz 4f\n"
	"	movzwl (%rsi), %ecx\n"
	"	movw %cx, (%rdi)\n"
	"	addq $2, %rsi\n"
	"	addq $2, %rdi\n"
	"4:	testb $1, %dl\n"
	"	jz 5f\n"
	"	movzbl (%rsi), %ecx\n"
	"	movb %cl, (%rdi)\n"
	"5:	ret\n"
	"8:	movq %rdx, %rcx\n"
	"	rep movsb\n"
	"	ret\n"
	"guest_exchange:\n"
	"	movq %rsi, %rax\n"
	"	cmpxchgq %rdx, (%rdi)\n"
	"	movl $0, %eax\n"
	"	setne %al\n"
	"	ret\n"
	"guest_copy_end:\n"
	"guest_copy_fault:\n"
	"	movl $-14, %eax\n"
	"	ret\n"
	".size guest_copy, . - guest_copy\n"
	".popsection\n");

int guest_read(void *dst, gva src, size_t n)
{
	return guest_copy(dst, (const void *)src, n);
}

int guest_write(gva dst, const void *src, size_t n)
{
	return guest_copy((void *)dst, src, n);
}

/* In pieces that never cross a page, so that a string may end just before an unmapped one. */
long guest_read_str(char *dst, gva src, size_t size)
{
	size_t done = 0;

	if (!size)
		return ENAMETOOLONG_RESULT;
	while (done < size) {
		size_t to_page_end = PAGE_SIZE - ((src + done) & (PAGE_SIZE - 1));
		size_t n = MIN(MIN(size - done, to_page_end), STR_CHUNK);
		char *end;

		if (guest_read(dst + done, src + done, n))
			return EFAULT_RESULT;
		end = memchr(dst + done, 0, n);
		if (end)
			return end - dst;
		done += n;
	}
	dst[size - 1] = 0;
	return ENAMETOOLONG_RESULT;
}

u64 guest_fault_fixup(u64 pc)
{
	if (pc >= (u64)guest_copy_begin && pc < (u64)guest_copy_end)
		return (u64)guest_copy_fault;
	return 0;
}
