/* Vector registers between a signal frame and the processor: see sigframe.c. */

	.text

/* void vector_save(void *area, u64 mask): XSAVE, standard format; area is 64-byte aligned. */
	.globl	vector_save
	.type	vector_save, @function
vector_save:
	mov	%esi, %eax
	mov	%rsi, %rdx
	shr	$32, %rdx
	xsave64	(%rdi)
	ret
	.size	vector_save, . - vector_save

/* void vector_load(const void *area, u64 mask): XRSTOR of a valid area. */
	.globl	vector_load
	.type	vector_load, @function
vector_load:
	mov	%esi, %eax
	mov	%rsi, %rdx
	shr	$32, %rdx
	xrstor64 (%rdi)
	ret
	.size	vector_load, . - vector_load

	.section .note.GNU-stack, "", @progbits
