/* Where a section restarts; see rt/section.h and struct section. */
#define REGS_RSP 48
#define REGS_RIP 56
#define KEPT_STACK 0 /* in struct section */
#define KEPT 8
#define BEGIN 16
#define CALLED 80

	.text
/*
 * u32 section_save(struct section_regs *regs, char *kept_stack, u64 stack_top)
 *
 * Keeps the callee's registers and the stack from the caller's frame up to stack_top; returns how many bytes that are.
 * Goes on here again when section_restart() is called.
 */
	.globl	section_save
	.type	section_save, @function
section_save:
	mov	%rbx, 0(%rdi)
	mov	%rbp, 8(%rdi)
	mov	%r12, 16(%rdi)
	mov	%r13, 24(%rdi)
	mov	%r14, 32(%rdi)
	mov	%r15, 40(%rdi)
	mov	(%rsp), %rax
	mov	%rax, REGS_RIP(%rdi)
	lea	8(%rsp), %r8
	mov	%r8, REGS_RSP(%rdi)
	mov	%rdx, %rax
	sub	%r8, %rax
	mov	%rax, %rcx
	shr	$3, %rcx
	mov	%rsi, %rdi
	mov	%r8, %rsi
	rep movsq
	ret
	.size	section_save, . - section_save

/*
 * void section_call(struct section *s, void (*work)(void *arg), void *arg): see section_run(). section_restart() leads
 * to 1.
 */
	.globl	section_call
	.type	section_call, @function
section_call:
	push	%rbx
	push	%r12
	push	%r13
	mov	%rdi, %rbx
	mov	%rsi, %r12
	mov	%rdx, %r13
	mov	%rbx, BEGIN + 0(%rdi)
	mov	%rbp, BEGIN + 8(%rdi)
	mov	%r12, BEGIN + 16(%rdi)
	mov	%r13, BEGIN + 24(%rdi)
	mov	%r14, BEGIN + 32(%rdi)
	mov	%r15, BEGIN + 40(%rdi)
	mov	%rsp, BEGIN + REGS_RSP(%rdi)
	lea	1f(%rip), %rax
	mov	%rax, BEGIN + REGS_RIP(%rdi)
1:	movl	$1, CALLED(%rbx)
	mov	%r13, %rdi
	call	*%r12
	movl	$0, CALLED(%rbx)
	pop	%r13
	pop	%r12
	pop	%rbx
	ret
	.size	section_call, . - section_call

/*
 * u32 section_mark(struct section_regs *regs): 0, and 1 when section_resume() leads here again. Nothing of the stack is
 * kept.
 */
	.globl	section_mark
	.type	section_mark, @function
section_mark:
	mov	%rbx, 0(%rdi)
	mov	%rbp, 8(%rdi)
	mov	%r12, 16(%rdi)
	mov	%r13, 24(%rdi)
	mov	%r14, 32(%rdi)
	mov	%r15, 40(%rdi)
	mov	(%rsp), %rax
	mov	%rax, REGS_RIP(%rdi)
	lea	8(%rsp), %rax
	mov	%rax, REGS_RSP(%rdi)
	xor	%eax, %eax
	ret
	.size	section_mark, . - section_mark

/*
 * void section_restart(struct section *s). The stack below the kept part is free, and so is the part itself: nothing is
 * pushed until it is back.
 */
	.globl	section_restart
	.type	section_restart, @function
section_restart:
	lea	BEGIN(%rdi), %rdx
	mov	KEPT_STACK(%rdi), %rsi
	mov	KEPT(%rdi), %rcx
	mov	REGS_RSP(%rdx), %rdi
	mov	%rcx, %r8
	cld
	shr	$3, %rcx
	rep movsq
	mov	%rdx, %rdi
	mov	%r8, %rax
	jmp	load
	.size	section_restart, . - section_restart

/* void section_resume(const struct section_regs *regs): section_mark() returns 1. */
	.globl	section_resume
	.type	section_resume, @function
section_resume:
	mov	$1, %eax
load:	mov	0(%rdi), %rbx
	mov	8(%rdi), %rbp
	mov	16(%rdi), %r12
	mov	24(%rdi), %r13
	mov	32(%rdi), %r14
	mov	40(%rdi), %r15
	mov	REGS_RSP(%rdi), %rsp
	jmp	*REGS_RIP(%rdi)
	.size	section_resume, . - section_resume

	.section .note.GNU-stack, "", @progbits
