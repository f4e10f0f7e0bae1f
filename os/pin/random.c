/* See random.h. */
#include "os/pin/random.h"

#include <asm-generic/errno-base.h>
#include <linux/fcntl.h>
#include <linux/random.h>
#include <linux/uio.h>
#include <sys/stat.h>
#include "rt/guest.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

#define STEP	     0x9e3779b97f4a7c15ul
#define DEV_RANDOM   0x108u /* major 1, minor 8 */
#define DEV_URANDOM  0x109u
#define READ_MAX     0x7fffffffu
#define STANDARD_FDS 3

/* splitmix64: number n of a seed. */
static u64 number(u64 seed, u64 n)
{
	u64 x = seed + n * STEP;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ul;
	x = (x ^ x >> 27) * 0x94d049bb133111ebul;
	return x ^ x >> 31;
}

u64 pin_new_task(struct thread *t)
{
	return number(~t->pin.seed, ++t->pin.children);
}

/* 0 or -EFAULT. */
static int fill(struct thread *t, gva to, u64 n)
{
	u64 word[32], part;

	for (; n; to += part, n -= part) {
		part = MIN(n, sizeof(word));
		for (u32 i = 0; i < ALIGN_UP(part, 8ul) / 8; i++)
			word[i] = number(t->pin.seed, ++t->pin.drawn);
		if (guest_write(to, word, part))
			return -EFAULT;
	}
	return 0;
}

long pin_getrandom(struct thread *t, const u64 *a, syscall_handler *host)
{
	u64 n = MIN(a[1], READ_MAX), flags = (u32)a[2];

	if (flags & ~(u64)(GRND_NONBLOCK | GRND_RANDOM | 4 /* GRND_INSECURE */) || (flags & 6) == 6)
		return host(t, a);
	return fill(t, a[0], n) ? -EFAULT : (long)n;
}

/* Not where a filter may forbid to ask. */
static bool is_random(s32 fd)
{
	struct stat st;

	return !__atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED) && !sys2(__NR_fstat, fd, &st) &&
	       S_ISCHR(st.st_mode) && (st.st_rdev == DEV_RANDOM || st.st_rdev == DEV_URANDOM);
}

void pin_random_look(void)
{
	for (s32 fd = 0; fd < STANDARD_FDS; fd++)
		if (is_random(fd))
			the_process.config.pin_state.has_random = 1;
}

/* What it opens is a directory, or nothing. */
static bool opens_directory(const struct thread *t, const u64 *a)
{
	return (t->nr == __NR_open && a[1] & O_DIRECTORY) || (t->nr == __NR_openat && a[2] & O_DIRECTORY);
}

long pin_random_open(struct thread *t, const u64 *a, syscall_handler *host)
{
	long fd = host(t, a);

	if (fd >= 0 && !opens_directory(t, a) && !the_process.config.pin_state.has_random && is_random((s32)fd))
		the_process.config.pin_state.has_random = 1;
	return fd;
}

/* n: bytes that were read. */
static bool is_to_replace(u64 fd, long n)
{
	return n > 0 && the_process.config.pin_state.has_random && is_random((s32)fd);
}

long pin_random_read(struct thread *t, const u64 *a, syscall_handler *host)
{
	long n = host(t, a);

	if (unlikely(is_to_replace(a[0], n)) && fill(t, a[1], (u64)n))
		return -EFAULT;
	return n;
}

long pin_random_readv(struct thread *t, const u64 *a, syscall_handler *host)
{
	long n = host(t, a);
	struct iovec iov;
	u64 left = (u64)n;

	if (likely(!is_to_replace(a[0], n)))
		return n;
	for (gva at = a[1]; left; at += sizeof(iov), left -= MIN(left, iov.iov_len))
		if (guest_read(&iov, at, sizeof(iov)) || fill(t, (gva)iov.iov_base, MIN(left, iov.iov_len)))
			return -EFAULT;
	return n;
}
