/*
 * The way into translated code and out of it.
 *
 *   int dbt_enter(struct cpu *cpu, u64 host)
 *
 * saves the C state, loads the guest's registers from *cpu and jumps to host. Translated code comes back through one of
 * the dbt_leave_* labels (by way of cpu->rt_fn) with all guest registers in place and r15 = cpu: they are saved to *cpu, the
 * C state is restored and dbt_enter returns LEFT_*.
 *
 * Between dbt_enter_check and dbt_enter_end *cpu is whole and untouched: a signal handler that interrupts there sets
 * rip to dbt_enter_abort (r15 is cpu already). Before, cpu->pending is still looked at.
 * The field offsets are checked against struct cpu in dbt/run.c.
 */
#include "dbt/stop.h"
#include "dbt/cpu_offsets.h"

	.text
	.globl dbt_enter, dbt_enter_check, dbt_enter_end, dbt_enter_abort
	.globl dbt_leave_exit, dbt_leave_indirect
	.hidden dbt_enter, dbt_enter_check, dbt_enter_end, dbt_enter_abort
	.hidden dbt_leave_exit, dbt_leave_indirect
	.type dbt_enter, @function
dbt_enter:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rdi, %r15
	mov	%rsp, CPU_RT_RSP(%r15)
	mov	%rsi, CPU_TARGET(%r15)
	pushq	CPU_RFLAGS(%r15)
dbt_enter_check:
	cmpl	$0, CPU_PENDING(%r15)
	jne	dbt_enter_abort
	popfq
	mov	CPU_GPR+0*8(%r15), %rax
	mov	CPU_GPR+1*8(%r15), %rcx
	mov	CPU_GPR+2*8(%r15), %rdx
	mov	CPU_GPR+3*8(%r15), %rbx
	mov	CPU_GPR+5*8(%r15), %rbp
	mov	CPU_GPR+6*8(%r15), %rsi
	mov	CPU_GPR+7*8(%r15), %rdi
	mov	CPU_GPR+8*8(%r15), %r8
	mov	CPU_GPR+9*8(%r15), %r9
	mov	CPU_GPR+10*8(%r15), %r10
	mov	CPU_GPR+11*8(%r15), %r11
	mov	CPU_GPR+12*8(%r15), %r12
	mov	CPU_GPR+13*8(%r15), %r13
	mov	CPU_GPR+14*8(%r15), %r14
	mov	CPU_GPR+4*8(%r15), %rsp
	jmp	*CPU_TARGET(%r15)
dbt_enter_end:

dbt_enter_abort:
	mov	CPU_RT_RSP(%r15), %rsp
	pushq	$0x202
	popfq
	mov	$LEFT_INTERRUPT, %eax
	jmp	restore

	.macro save_guest
	mov	%rsp, CPU_GPR+4*8(%r15)
	mov	CPU_RT_RSP(%r15), %rsp
	pushfq
	popq	CPU_RFLAGS(%r15)
	mov	%rax, CPU_GPR+0*8(%r15)
	mov	%rcx, CPU_GPR+1*8(%r15)
	mov	%rdx, CPU_GPR+2*8(%r15)
	mov	%rbx, CPU_GPR+3*8(%r15)
	mov	%rbp, CPU_GPR+5*8(%r15)
	mov	%rsi, CPU_GPR+6*8(%r15)
	mov	%rdi, CPU_GPR+7*8(%r15)
	mov	%r8, CPU_GPR+8*8(%r15)
	mov	%r9, CPU_GPR+9*8(%r15)
	mov	%r10, CPU_GPR+10*8(%r15)
	mov	%r11, CPU_GPR+11*8(%r15)
	mov	%r12, CPU_GPR+12*8(%r15)
	mov	%r13, CPU_GPR+13*8(%r15)
	mov	%r14, CPU_GPR+14*8(%r15)
	pushq	$0x202
	popfq
	.endm

dbt_leave_exit:
	save_guest
	mov	$LEFT_EXIT, %eax
	jmp	restore

dbt_leave_indirect:
	save_guest
	mov	$LEFT_INDIRECT, %eax
restore:
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size dbt_enter, . - dbt_enter
	.section .note.GNU-stack, "", @progbits
