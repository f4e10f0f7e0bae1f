/*
 * The way into translated code and out of it.
 *
 *   int dbt_enter(struct cpu *cpu, u64 host)
 *
 * saves the C state, loads the guest's registers from *cpu and jumps to host. Translated code comes back through one of
 * the dbt_leave_* labels (by way of cpu->rt_fn) with all guest registers in place and CPU (the stolen register) = cpu +
 * CPU_BASE: they are saved to *cpu, the C state is restored and dbt_enter returns LEFT_*.
 *
 * Between dbt_enter_check and dbt_enter_end *cpu is whole and untouched: a signal handler that interrupts there sets
 * rip to dbt_enter_abort (CPU is set already). Before, cpu->pending is still looked at.
 * The field offsets are checked against struct cpu in dbt/run.c.
 */
#include "dbt/stop.h"
#include "dbt/cpu_offsets.h"

#define CPU %r11
/* All but the status flags: C code is not to have them as the guest does. popfq is slow. */
#define RFLAGS_FOREIGN 0x7ff500

#define SIGNATURE 0x53053053

	.text
	.globl dbt_enter, dbt_enter_check, dbt_enter_end, dbt_enter_abort
	.globl dbt_rseq_cs_abort, dbt_rseq_cs_signature
	.hidden dbt_rseq_cs_abort, dbt_rseq_cs_signature
	.globl dbt_leave_exit, dbt_leave_indirect, dbt_leave_poll
	.hidden dbt_enter, dbt_enter_check, dbt_enter_end, dbt_enter_abort
	.hidden dbt_leave_exit, dbt_leave_indirect, dbt_leave_poll
	.type dbt_enter, @function
dbt_enter:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	lea	CPU_AT_ITSELF(%rdi), CPU
	mov	%rsp, CPU_AT_RT_RSP(CPU)
	mov	%rsi, CPU_AT_TARGET(CPU)
	pushq	CPU_AT_RFLAGS(CPU)
dbt_enter_check:
	cmpl	$0, CPU_AT_PENDING(CPU)
	jne	dbt_enter_abort
	popfq
	mov	CPU_AT_GPR+0*8(CPU), %rax
	mov	CPU_AT_GPR+1*8(CPU), %rcx
	mov	CPU_AT_GPR+2*8(CPU), %rdx
	mov	CPU_AT_GPR+3*8(CPU), %rbx
	mov	CPU_AT_GPR+5*8(CPU), %rbp
	mov	CPU_AT_GPR+6*8(CPU), %rsi
	mov	CPU_AT_GPR+7*8(CPU), %rdi
	mov	CPU_AT_GPR+8*8(CPU), %r8
	mov	CPU_AT_GPR+9*8(CPU), %r9
	mov	CPU_AT_GPR+10*8(CPU), %r10
	mov	CPU_AT_GPR+12*8(CPU), %r12
	mov	CPU_AT_GPR+13*8(CPU), %r13
	mov	CPU_AT_GPR+14*8(CPU), %r14
	mov	CPU_AT_GPR+15*8(CPU), %r15
	mov	CPU_AT_GPR+4*8(CPU), %rsp
	jmp	*CPU_AT_TARGET(CPU)
dbt_enter_end:

dbt_enter_abort:
	mov	CPU_AT_RT_RSP(CPU), %rsp
	pushq	$0x202
	popfq
	mov	$LEFT_INTERRUPT, %eax
	jmp	restore

/*
 * Code of the guest's critical sections: not executed, and *cpu is as it was. In front of it is the signature that
 * nearly all programs use.
 */
dbt_rseq_cs_signature:
	.long	SIGNATURE
dbt_rseq_cs_abort:
	movl	$1, CPU_AT_ABORTED(CPU)
	jmp	dbt_enter_abort

	.macro save_guest
	mov	%rsp, CPU_AT_GPR+4*8(CPU)
	mov	CPU_AT_RT_RSP(CPU), %rsp
	pushfq
	popq	CPU_AT_RFLAGS(CPU)
	mov	%rax, CPU_AT_GPR+0*8(CPU)
	mov	%rcx, CPU_AT_GPR+1*8(CPU)
	mov	%rdx, CPU_AT_GPR+2*8(CPU)
	mov	%rbx, CPU_AT_GPR+3*8(CPU)
	mov	%rbp, CPU_AT_GPR+5*8(CPU)
	mov	%rsi, CPU_AT_GPR+6*8(CPU)
	mov	%rdi, CPU_AT_GPR+7*8(CPU)
	mov	%r8, CPU_AT_GPR+8*8(CPU)
	mov	%r9, CPU_AT_GPR+9*8(CPU)
	mov	%r10, CPU_AT_GPR+10*8(CPU)
	mov	%r12, CPU_AT_GPR+12*8(CPU)
	mov	%r13, CPU_AT_GPR+13*8(CPU)
	mov	%r14, CPU_AT_GPR+14*8(CPU)
	mov	%r15, CPU_AT_GPR+15*8(CPU)
	testl	$RFLAGS_FOREIGN, CPU_AT_RFLAGS(CPU)
	jz	1f
	pushq	$0x202
	popfq
1:
	.endm

dbt_leave_exit:
	save_guest
	mov	$LEFT_EXIT, %eax
	jmp	restore

dbt_leave_indirect:
	save_guest
	mov	$LEFT_INDIRECT, %eax
	jmp	restore

dbt_leave_poll:
	save_guest
	mov	$LEFT_POLL, %eax
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
