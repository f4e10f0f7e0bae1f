/* Coroutines: each on a stack of its own, switched by ucontext and by plain assembly. */
#include <stdio.h>
#include <ucontext.h>

static ucontext_t back, there;
static char stack[65536], stack2[4096] __attribute__((aligned(16)));
static int sum;

static void coroutine(void)
{
	for (int i = 0; i < 100; i++) {
		sum += i;
		swapcontext(&there, &back);
	}
}

void *switch_from, *switch_to;
void switch_stack(void **save, void *to);
__asm__(".text\nswitch_stack:\n\tpush %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r15\n\tmov %rsp, (%rdi)\n\tmov %rsi, "
	"%rsp\n"
	"\tpop %r15\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret\n");

static void fiber(void)
{
	for (;;) {
		sum += 3;
		switch_stack(&switch_to, switch_from);
	}
}

int main(void)
{
	void **top = (void **)(stack2 + sizeof(stack2)) - 2;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &back;
	makecontext(&there, coroutine, 0);
	for (int i = 0; i < 100; i++)
		swapcontext(&back, &there);
	*--top = (void *)fiber;
	switch_to = top - 4;
	for (int i = 0; i < 300; i++)
		switch_stack(&switch_from, switch_to);
	printf("%d\n", sum);
	return 0;
}
