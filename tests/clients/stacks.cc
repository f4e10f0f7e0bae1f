/*
 * Call stacks of every kind, in code without frame pointers. What each function calls ends in spin(), where the samples
 * are.
 *
 *     stacks KIND    recursion, tail, longjmp, exception, signal, coroutine or thread
 */
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK 65536l
#define BARRIER() __asm__ volatile("") /* what follows a call: so it is no tail call */
#define FUNCTION extern "C" __attribute__((noinline, noclone))

static volatile long sink;

FUNCTION void spin()
{
	for (int i = 0; i < 300000; i++)
		sink = sink + i;
}

FUNCTION void recursion(int depth)
{
	if (depth)
		recursion(depth - 1);
	else
		spin();
	BARRIER();
}

FUNCTION void target()
{
	spin();
	BARRIER();
}

FUNCTION void tail()
{
	sink = sink + 1;
	return target();
}

FUNCTION void before_tail()
{
	tail();
	BARRIER();
}

static jmp_buf jump_back;

FUNCTION void jumper(int depth)
{
	if (!depth)
		longjmp(jump_back, 1);
	jumper(depth - 1);
	BARRIER();
}

FUNCTION void after_jump()
{
	if (!setjmp(jump_back))
		jumper(5);
	spin();
	BARRIER();
}

FUNCTION void thrower(int depth)
{
	if (!depth)
		throw depth;
	thrower(depth - 1);
	BARRIER();
}

FUNCTION void after_throw()
{
	try {
		thrower(5);
	} catch (int) {
	}
	spin();
	BARRIER();
}

FUNCTION void handler(int)
{
	spin();
	BARRIER();
}

FUNCTION void interrupted()
{
	raise(SIGUSR1);
	BARRIER();
}

static ucontext_t home, coroutine[2];

/* Each stack is a mapping by itself. */
static char *new_stack()
{
	char *p = static_cast<char *>(mmap(NULL, 2 * STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	mprotect(p + STACK, STACK, PROT_READ | PROT_WRITE);
	return p + STACK;
}

/* Two of them take turns: what one has called stays on its stack while the other runs. */
FUNCTION void inside(int self)
{
	for (int i = 0; i < 5; i++) {
		spin();
		swapcontext(&coroutine[self], &coroutine[!self]);
	}
	BARRIER();
}

FUNCTION void first_of_two()
{
	inside(0);
	BARRIER();
}

FUNCTION void second_of_two()
{
	inside(1);
	BARRIER();
}

FUNCTION void coroutines()
{
	void (*const begin[2])() = {first_of_two, second_of_two};

	for (int i = 0; i < 2; i++) {
		getcontext(&coroutine[i]);
		coroutine[i].uc_stack.ss_sp = new_stack();
		coroutine[i].uc_stack.ss_size = STACK;
		coroutine[i].uc_link = &home;
		makecontext(&coroutine[i], begin[i], 0);
	}
	swapcontext(&home, &coroutine[0]);
	BARRIER();
}

FUNCTION void *in_thread(void *)
{
	recursion(2);
	BARRIER();
	return NULL;
}

int main(int, char **argv)
{
	const char *kind = argv[1];
	pthread_t id[3];

	if (!strcmp(kind, "recursion"))
		recursion(5);
	else if (!strcmp(kind, "tail"))
		before_tail();
	else if (!strcmp(kind, "longjmp"))
		after_jump();
	else if (!strcmp(kind, "exception"))
		after_throw();
	else if (!strcmp(kind, "signal"))
		signal(SIGUSR1, handler), interrupted();
	else if (!strcmp(kind, "coroutine"))
		coroutines();
	for (int i = 0; !strcmp(kind, "thread") && i < 3; i++)
		pthread_create(&id[i], NULL, in_thread, NULL);
	for (int i = 0; !strcmp(kind, "thread") && i < 3; i++)
		pthread_join(id[i], NULL);
	return 0;
}
