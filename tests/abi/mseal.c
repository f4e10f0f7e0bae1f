/*
 * Code in sealed mappings: nothing may change their protection any more, the translator neither. What is sealed and
 * writable is written, by the program and by the kernel, before and after it is executed.
 */
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define NR_mseal 462
#define PAGE	 4096ul

typedef int function(void);

static const unsigned char returns_5[] = {0xb8, 5, 0, 0, 0, 0xc3};

static long result(long ret)
{
	return ret == -1 ? -errno : ret;
}

static unsigned char *map(int prot)
{
	return mmap(NULL, 2 * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int call(const unsigned char *code)
{
	return ((function *)(unsigned long)code)();
}

static void seal(unsigned char *p, size_t len)
{
	long ret = result(syscall(NR_mseal, p, len, 0));

	if (ret == -ENOSYS) /* Linux 6.10 */
		exit(77);
	expect(ret, 0);
}

static void expect_sealed(unsigned char *p, int destructive)
{
	expect(result(mprotect(p, PAGE, PROT_READ)), -EPERM);
	expect(result(munmap(p, PAGE)), -EPERM);
	expect(result((long)mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)), -EPERM);
	expect(result((long)mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE)), -EPERM);
	expect(result(madvise(p, PAGE, MADV_DONTNEED)), destructive);
}

static void test_writable(void)
{
	unsigned char *p = map(PROT_READ | PROT_WRITE | PROT_EXEC);
	int fds[2];

	memcpy(p, returns_5, sizeof(returns_5));
	expect(call(p), 5);
	seal(p, PAGE);
	p[1] = 6;
	expect(call(p), 6);
	p[1] = 7;
	expect(call(p), 7);
	expect(pipe(fds), 0);
	expect(write(fds[1], "\x08", 1), 1);
	expect(read(fds[0], p + 1, 1), 1);
	expect(call(p), 8);
	expect_sealed(p, 0); /* what may be written may be thrown away */
	expect(p[1], 0);
	/* The page behind it is as before. */
	memcpy(p + PAGE, returns_5, sizeof(returns_5));
	expect(call(p + PAGE), 5);
	p[PAGE + 1] = 9;
	expect(call(p + PAGE), 9);
	expect(munmap(p + PAGE, PAGE), 0);
}

/* Sealed before anything of it was executed, and in a child. */
static void test_fresh(void)
{
	unsigned char *p = map(PROT_READ | PROT_WRITE | PROT_EXEC);
	int status;

	seal(p, 2 * PAGE);
	memcpy(p, returns_5, sizeof(returns_5));
	expect(call(p), 5);
	if (!fork()) {
		p[1] = 6;
		_exit(call(p) == 6 && result(munmap(p, PAGE)) == -EPERM ? 0 : 1);
	}
	wait(&status);
	expect(status, 0);
	p[1] = 7;
	expect(call(p), 7);
}

static void test_read_only(void)
{
	unsigned char *p = map(PROT_READ | PROT_WRITE);

	memcpy(p, returns_5, sizeof(returns_5));
	expect(mprotect(p, 2 * PAGE, PROT_READ | PROT_EXEC), 0);
	expect(call(p), 5);
	seal(p, 2 * PAGE);
	expect_sealed(p, -EPERM);
	expect(call(p), 5);
}

static void test_refused(void)
{
	unsigned char *p = map(PROT_READ);

	expect(result(syscall(NR_mseal, p, PAGE, 1)), -EINVAL);
	expect(result(syscall(NR_mseal, p + 1, PAGE, 0)), -EINVAL);
	expect(result(syscall(NR_mseal, p, 0, 0)), 0);
	expect(munmap(p + PAGE, PAGE), 0);
	expect(result(syscall(NR_mseal, p, 2 * PAGE, 0)), -ENOMEM);
	expect(munmap(p, PAGE), 0); /* nothing was sealed */
}

int main(void)
{
	alarm(20);
	test_writable();
	test_fresh();
	test_read_only();
	test_refused();
	return perf_result();
}
