/*
 * Threads that map, write, run, change, protect, move, drop, fork with and unmap code of their own, so that addresses
 * go from one thread's code to another's all the time. Each result must be that of the code as it is at the call.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS	    4
#define ROUNDS	    1500
#define PAGE	    4096
#define MOVED_PAGES 8
#define RWX	    (PROT_READ | PROT_WRITE | PROT_EXEC)

struct code {
	unsigned char *at;
	int pages, offset, value;
};

static void fail(const char *what, int round, int got, int want)
{
	fprintf(stderr, "%s in round %d: %x instead of %x\n", what, round, got, want);
	_exit(1);
}

/* mov $value, %eax; ret */
static void write_code(struct code *c, int value)
{
	unsigned char *p = c->at + c->offset;

	p[0] = 0xb8;
	memcpy(p + 1, &value, sizeof(value));
	p[5] = 0xc3;
	c->value = value;
}

static void run_code(const struct code *c, const char *what, int round)
{
	int got = ((int (*)(void))(c->at + c->offset))();

	if (got != c->value)
		fail(what, round, got, c->value);
}

static void protect(struct code *c, int round)
{
	mprotect(c->at, c->pages * PAGE, PROT_READ | PROT_WRITE);
	mprotect(c->at, c->pages * PAGE, PROT_READ | PROT_EXEC);
	run_code(c, "after mprotect", round);
}

static void move(struct code *c, int round)
{
	c->at = mremap(c->at, c->pages * PAGE, MOVED_PAGES * PAGE, MREMAP_MAYMOVE);
	c->pages = MOVED_PAGES;
	if (c->at == MAP_FAILED)
		fail("mremap", round, 0, 0);
	run_code(c, "after mremap", round);
	write_code(c, c->value ^ 9);
	run_code(c, "written after mremap", round);
}

static void drop(struct code *c, int round)
{
	madvise(c->at, c->pages * PAGE, MADV_DONTNEED);
	if (c->at[c->offset])
		fail("contents after MADV_DONTNEED", round, c->at[c->offset], 0);
}

static void fork_with(struct code *c, int round)
{
	int status;
	pid_t child = fork();

	if (!child) {
		run_code(c, "in a child", round);
		write_code(c, c->value ^ 3);
		run_code(c, "written in a child", round);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (status)
		fail("child", round, status, 0);
	run_code(c, "after fork", round);
}

static void *work(void *arg)
{
	unsigned seed = (unsigned)(long)arg;

	for (int round = 0; round < ROUNDS; round++) {
		struct code c = {.pages = 1 + rand_r(&seed) % 4};

		c.at = mmap(NULL, c.pages * PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		c.offset = rand_r(&seed) % c.pages * PAGE + rand_r(&seed) % (PAGE - 8);
		if (c.at == MAP_FAILED)
			fail("mmap", round, 0, 0);
		write_code(&c, rand_r(&seed));
		run_code(&c, "new code", round);
		write_code(&c, c.value ^ 5);
		run_code(&c, "changed code", round);
		switch (rand_r(&seed) % 4) {
		case 0:
			protect(&c, round);
			break;
		case 1:
			move(&c, round);
			break;
		case 2:
			drop(&c, round);
			break;
		default:
			if (round % 50 == 0)
				fork_with(&c, round);
		}
		munmap(c.at, c.pages * PAGE);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
