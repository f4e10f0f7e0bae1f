/* See rt/guest.h: copies that may fault, a compare-and-exchange, and an access without effect. */
	.section .text.guest_copy, "ax", @progbits
	.p2align 5
	.globl guest_copy, guest_copy_begin, guest_copy_end, guest_copy_fault, guest_exchange
	.globl guest_touch
	.hidden guest_copy, guest_copy_begin, guest_copy_end, guest_copy_fault, guest_exchange, guest_touch
	.type guest_copy, @function
guest_copy:
guest_copy_begin:
	xorl %eax, %eax
	cmpq $128, %rdx
	ja 8f
1:	cmpq $8, %rdx
	jb 2f
	movq (%rsi), %rcx
	movq %rcx, (%rdi)
	addq $8, %rsi
	addq $8, %rdi
	subq $8, %rdx
	jmp 1b
2:	testb $4, %dl
	jz 3f
	movl (%rsi), %ecx
	movl %ecx, (%rdi)
	addq $4, %rsi
	addq $4, %rdi
3:	testb $2, %dl
	jz 4f
	movzwl (%rsi), %ecx
	movw %cx, (%rdi)
	addq $2, %rsi
	addq $2, %rdi
4:	testb $1, %dl
	jz 5f
	movzbl (%rsi), %ecx
	movb %cl, (%rdi)
5:	ret
8:	movq %rdx, %rcx
	rep movsb
	ret
guest_exchange:
	movq %rsi, %rax
	cmpxchgq %rdx, (%rdi)
	movl $0, %eax
	setne %al
	ret
guest_touch:
	xorl %eax, %eax
	testb %sil, %sil
	jnz 1f
	movb (%rdi), %cl
	ret
1:	lock orb $0, (%rdi)
	ret
guest_copy_end:
guest_copy_fault:
	movl $-14, %eax
	ret
	.size guest_copy, . - guest_copy

	.section .note.GNU-stack, "", @progbits
