/*
 * strict_overcommit [KIB]: executes much code in two threads, and then in a child and again in two threads. With a
 * number that is the limit on private memory (RLIMIT_DATA) by then, and other code is executed: there is no more memory
 * for what is translated.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTIONS 30000u
#define SIZE	  64u

static unsigned char *code;

/* Of an argument: times 3, plus its number, if that is even; each half in a block of its own. */
static void make(unsigned i)
{
	static const unsigned char text[] = {
		0x8d, 0x04, 0x7f,		    /* lea (%rdi,%rdi,2), %eax */
		0xf6, 0xc0, 0x01,		    /* test $1, %al */
		0x75, 0x07,			    /* jne 1f */
		0x05, 0, 0, 0, 0,		    /* add $i, %eax */
		0xeb, 0x00,			    /* jmp 1f */
		0xc3,				    /* 1: ret */
	};

	memcpy(code + i * SIZE, text, sizeof(text));
	memcpy(code + i * SIZE + 9, &i, sizeof(i));
}

static unsigned run(unsigned x)
{
	for (unsigned i = 0; i < FUNCTIONS; i++)
		x = ((unsigned (*)(unsigned))(void *)(code + i * SIZE))(x);
	return x;
}

static unsigned expected(unsigned x)
{
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		x *= 3;
		x += x & 1 ? 0 : i;
	}
	return x;
}

static void *thread(void *x)
{
	unsigned a = (unsigned)(long)x;

	return (void *)(long)(run(a) == expected(a) && run(a + 1) == expected(a + 1));
}

static int both(void)
{
	pthread_t t;
	void *ok;

	if (pthread_create(&t, NULL, thread, (void *)7l))
		return 2;
	if (!thread((void *)1000l))
		return 3;
	pthread_join(t, &ok);
	return ok ? 0 : 4;
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	int status;

	code = mmap(NULL, 2 * FUNCTIONS * SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		make(i);
		memcpy(code + (FUNCTIONS + i) * SIZE, code + i * SIZE, SIZE);
	}
	if (both()) /* the threads' stacks stay for the next ones */
		return 1;
	if (argc > 1) {
		limit.rlim_cur = limit.rlim_max = strtoul(argv[1], NULL, 10) << 10;
		if (setrlimit(RLIMIT_DATA, &limit))
			return 1;
		code += FUNCTIONS * SIZE;
	}
	if (!fork())
		_exit(thread((void *)5l) ? 0 : 1);
	wait(&status);
	printf("alone %d, child %d\n", both(), WEXITSTATUS(status) + 100 * WTERMSIG(status));
	return 0;
}
