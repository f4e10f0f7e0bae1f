/*
 * What cannot be said in C: the entry from the kernel, the interruptible system call, clone onto another stack, the
 * return from host signal handlers, and the vector state's way to and from memory.
 */
	.text

/* The kernel's entry after execveat: its initial stack is argv, environment and auxiliary vector. */
	.globl	rt_start
	.type	rt_start, @function
rt_start:
	xor	%ebp, %ebp
	mov	%rsp, %rbx
	mov	%rsp, %rdi
	and	$-16, %rsp
	call	main_prepare		/* returns the top of the runtime stack */
	mov	%rax, %rsp
	mov	%rbx, %rdi
	xor	%ebp, %ebp
	call	main_run
	ud2
	.size	rt_start, . - rt_start

/*
 * long syscall_window(const u64 *args, long nr, const u32 *attention)
 *
 * A signal handler that interrupts between window_begin and window_enter moves rip to window_abort, so that the system
 * call is not entered after a signal was taken. There, rcx tells whether the kernel had been entered and wants a
 * restart (rcx == window_end, as the instruction leaves it) or not yet (0).
 */
	.globl	syscall_window, window_begin, window_enter, window_end, window_abort
	.type	syscall_window, @function
syscall_window:
	push	%rbx
	mov	%rdx, %rbx
	mov	%rsi, %rax
	mov	40(%rdi), %r9
	mov	32(%rdi), %r8
	mov	24(%rdi), %r10
	mov	16(%rdi), %rdx
	mov	8(%rdi), %rsi
	mov	0(%rdi), %rdi
	xor	%ecx, %ecx
window_begin:
	cmpl	$0, (%rbx)
	jne	window_abort
window_enter:
	syscall
window_end:
	pop	%rbx
	ret
window_abort:
	mov	$-513, %rax		/* SYSCALL_AGAIN */
	pop	%rbx
	ret
	.size	syscall_window, . - syscall_window

/*
 * long clone_onto(u64 flags, u64 ptid, u64 ctid, u64 tls, void *stack_top, struct thread *child)
 * long clone3_onto(struct clone_args *args, u64 size, void *stack_top, struct thread *child)
 *
 * The child goes to clone_child(child) on the given stack; for clone3, args names the same stack.
 */
	.globl	clone_onto
	.type	clone_onto, @function
clone_onto:
	mov	%rcx, %rax		/* tls */
	mov	%rdx, %r10		/* ctid */
	mov	%rsi, %rdx		/* ptid */
	mov	%r8, %rsi		/* stack */
	mov	%rax, %r8
	mov	$56, %eax
	syscall
	test	%rax, %rax
	jz	1f
	ret
1:	mov	%r9, %rdi
	xor	%ebp, %ebp
	call	clone_child
	ud2
	.size	clone_onto, . - clone_onto

	.globl	clone3_onto
	.type	clone3_onto, @function
clone3_onto:
	mov	%rcx, %r9
	mov	$435, %eax
	syscall
	test	%rax, %rax
	jz	1b
	ret
	.size	clone3_onto, . - clone3_onto

/*
 * long apart_clone(u64 flags, u32 *tid, u64 stack_top, struct apart *a): the new thread goes to apart_begin(a) on that
 * stack.
 */
	.globl	apart_clone
	.type	apart_clone, @function
apart_clone:
	mov	%rcx, %r9
	mov	%rsi, %r10		/* child_tid */
	mov	%rdx, %rsi
	xor	%edx, %edx
	xor	%r8d, %r8d
	mov	$56, %eax
	syscall
	test	%rax, %rax
	jz	1f
	ret
1:	mov	%r9, %rdi
	xor	%ebp, %ebp
	call	apart_begin
	ud2
	.size	apart_clone, . - apart_clone

/*
 * What the kernel calls: signal_host_handler() with clean flags. The kernel clears DF and TF for a handler, but leaves
 * the guest's AC, with which C code would fault.
 */
	.globl	signal_entry
	.type	signal_entry, @function
signal_entry:
	pushq	$0x202
	popfq
	jmp	signal_host_handler
	.size	signal_entry, . - signal_entry

/*
 * SA_RESTORER of the runtime's own handlers. In 64 bits, as in libc: gVisor replaces a `mov $15, %eax` in front of a
 * system call by a way of its own, on which the trap flag of the frame traps too early.
 */
	.globl	signal_restorer
	.type	signal_restorer, @function
signal_restorer:
	movq	$15, %rax
	syscall
	ud2
	.size	signal_restorer, . - signal_restorer

/* void signal_mask_by_trap(u64 mask): the handler, which knows this place, changes the set that it returns to. */
	.globl	signal_mask_by_trap
	.type	signal_mask_by_trap, @function
signal_mask_by_trap:
	ud2
	ret
	.size	signal_mask_by_trap, . - signal_mask_by_trap

/* void thread_leave(s32 status): ends the kernel thread without using any stack. */
	.globl	thread_leave
	.type	thread_leave, @function
thread_leave:
	mov	$60, %eax
	syscall
	ud2
	.size	thread_leave, . - thread_leave

	.section .note.GNU-stack, "", @progbits
