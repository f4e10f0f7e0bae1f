/*
 * select and pselect6 with events among the descriptors: which bits of the sets they read and write, and which mistake
 * they see first.
 */
#include <fcntl.h>
#include <sys/select.h>
#include "tests/abi/wakeup.h"

#define WORDS 64 /* of a set; more than the process's table has */

static int last_word(struct waker *w, int nfds)
{
	u64 in[WORDS] = {1ul << w->fd | ~0ul << nfds}, out[WORDS] = {~0ul << nfds};
	struct timeval now = {0, 0};
	long n = syscall(SYS_select, nfds, in, out, NULL, &now);

	expect(in[0], n == 1 ? 1ul << w->fd : 0);
	expect(out[0], 0);
	return (int)n;
}

/* Bits at and above nfds are not looked at, and those of the last word are cleared. */
static void test_last_word(void)
{
	struct waker w = named_open(0);

	expect(last_word(&w, w.fd + 1), 0);
	change_name();
	expect(last_word(&w, w.fd + 1), 1);
	change_name();
	expect(last_word(&w, 63), 1);
	waker_close(&w);
}

/* Descriptors for which the table has no room are ignored, and their part of the sets is not touched, nor even read. */
static void test_above_table(void)
{
	static const int nfds[] = {WORDS * 64, 100000, 1 << 20, 0x7fffffff};
	char *end = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u64 *in = (u64 *)(end + 4096 - WORDS * 8);
	struct waker w = named_open(0);
	struct timeval now = {0, 0};

	expect(munmap(end + 4096, 4096), 0);
	for (int i = 0; i < 4; i++) {
		memset(in, 0, WORDS * 8);
		in[0] = 1ul << w.fd;
		in[WORDS - 1] = 5;
		now.tv_usec = 1000;
		expect(syscall(SYS_select, nfds[i], in, NULL, NULL, &now), 0);
		expect(in[0], 0);
		expect(in[WORDS - 1], 5);
		in[0] = 1ul << w.fd;
		change_name();
		expect(syscall(SYS_select, nfds[i], in, NULL, NULL, &now), 1);
		expect(in[0], 1ul << w.fd);
		expect(in[WORDS - 1], 5);
	}
	waker_close(&w);
	munmap(end, 4096);
}

#define answer(call) ((call) < 0 ? -errno : 0)

static void test_mistakes(void)
{
	struct waker w = named_open(0);
	struct timespec late = {0, 1000000000}, good = {0, 0};
	struct timeval negative = {-1, 0}, now = {0, 0};
	u64 in[WORDS] = {1ul << w.fd}, mask = 0, bad_size[2] = {(u64)&mask, 4};

	expect(answer(syscall(SYS_pselect6, w.fd + 1, in, NULL, NULL, 1, bad_size)), -EFAULT);
	expect(answer(syscall(SYS_pselect6, w.fd + 1, in, NULL, NULL, 1, NULL)), -EFAULT);
	expect(answer(syscall(SYS_pselect6, w.fd + 1, in, NULL, NULL, &late, 1)), -EFAULT);
	expect(answer(syscall(SYS_pselect6, w.fd + 1, 1, NULL, NULL, &late, bad_size)), -EINVAL);
	expect(answer(syscall(SYS_pselect6, w.fd + 1, 1, NULL, NULL, &good, bad_size)), -EINVAL);
	expect(answer(syscall(SYS_pselect6, w.fd + 1, 1, NULL, NULL, &good, NULL)), -EFAULT);
	expect(answer(syscall(SYS_select, w.fd + 1, 1, NULL, NULL, &negative)), -EINVAL);
	expect(answer(syscall(SYS_select, w.fd + 1, 1, NULL, NULL, &now)), -EFAULT);
	expect(answer(syscall(SYS_select, -1, in, NULL, NULL, 1)), -EFAULT);
	expect(answer(syscall(SYS_select, -1, in, NULL, NULL, &now)), -EINVAL);
	expect(in[0], 1ul << w.fd);
	in[0] |= 1ul << 63; /* not open, but there is room for it */
	expect(answer(syscall(SYS_select, 64, in, NULL, NULL, NULL)), -EBADF);
	expect(in[0], 1ul << w.fd | 1ul << 63);
	waker_close(&w);
}

static void on_alarm(int signo)
{
}

static long limited(struct waker *w, long sec, long usec)
{
	long limit[2] = {sec, usec};
	u64 in = 1ul << w->fd;
	long n = syscall(SYS_select, w->fd + 1, &in, NULL, NULL, limit);

	return n < 0 ? -errno : n;
}

/* Microseconds of more than a second are seconds. */
static void test_microseconds(void)
{
	struct sigaction act = {.sa_handler = on_alarm};
	struct waker w = named_open(0);

	sigaction(SIGALRM, &act, NULL);
	expect(limited(&w, 0, -1), -EINVAL);
	expect(limited(&w, -1, 1000000), 0);
	expect(limited(&w, 1, -1000000), 0);
	expect(limited(&w, 1, -1000001), -EINVAL);
	expect(limited(&w, 0x7fffffffffffffff, 1000000), -EINVAL);
	ualarm(20000, 20000); /* the first may come too early */
	expect(limited(&w, 0, 9223372036854776), -EINTR);
	expect(limited(&w, 0, 9400000000000000), -EINTR);
	expect(limited(&w, 0, 0x7fffffffffffffff), -EINTR);
	ualarm(0, 0);
	waker_close(&w);
}

int main(void)
{
	test_last_word();
	test_above_table();
	test_mistakes();
	test_microseconds();
	return perf_result();
}
