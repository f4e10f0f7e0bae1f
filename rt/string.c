/*
 * Memory and string functions for the runtime. Hosted programs use the C library's.
 *
 * Sizes below 16 are moved with two overlapping words, sizes up to COPY_WORDS word by word, more as the processor does
 * it fastest without vector registers. The build turns off the compiler's loop-to-memcpy transformation.
 */
#include "abi/types.h"
#include "rt/arch.h"
#define RT_STRING_DEFINED_HERE
#include "rt/string.h"

#define COPY_WORDS 128

typedef u64 __attribute__((may_alias, aligned(1))) any_u64;
typedef u32 __attribute__((may_alias, aligned(1))) any_u32;
typedef u16 __attribute__((may_alias, aligned(1))) any_u16;

/* All loads happen before the first store, so this also serves memmove. */
static void move_up_to_16(u8 *d, const u8 *s, size_t n)
{
	if (n >= 8) {
		u64 a = *(const any_u64 *)s, b = *(const any_u64 *)(s + n - 8);

		*(any_u64 *)d = a;
		*(any_u64 *)(d + n - 8) = b;
	} else if (n >= 4) {
		u32 a = *(const any_u32 *)s, b = *(const any_u32 *)(s + n - 4);

		*(any_u32 *)d = a;
		*(any_u32 *)(d + n - 4) = b;
	} else if (n >= 2) {
		u16 a = *(const any_u16 *)s, b = *(const any_u16 *)(s + n - 2);

		*(any_u16 *)d = a;
		*(any_u16 *)(d + n - 2) = b;
	} else if (n) {
		*d = *s;
	}
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	u8 *d = dst;
	const u8 *s = src;

	if (n <= 16) {
		move_up_to_16(d, s, n);
	} else if (n <= COPY_WORDS) {
		u64 last = *(const any_u64 *)(s + n - 8);

		for (size_t i = 0; i + 8 < n; i += 8)
			*(any_u64 *)(d + i) = *(const any_u64 *)(s + i);
		*(any_u64 *)(d + n - 8) = last;
	} else {
		arch_copy_up(d, s, n);
	}
	return dst;
}

static void move_backward(u8 *d, const u8 *s, size_t n)
{
	while (n >= 8) {
		n -= 8;
		*(any_u64 *)(d + n) = *(const any_u64 *)(s + n);
	}
	while (n--)
		d[n] = s[n];
}

void *memmove(void *dst, const void *src, size_t n)
{
	u8 *d = dst;
	const u8 *s = src;

	if (n <= 16) {
		move_up_to_16(d, s, n);
	} else if ((uintptr_t)d - (uintptr_t)s >= n) {
		/* dst is not inside (src, src + n): copying upwards reads each byte before it is overwritten. */
		if ((uintptr_t)s - (uintptr_t)d >= n)
			memcpy(dst, src, n);
		else
			arch_copy_up(d, s, n);
	} else {
		move_backward(d, s, n);
	}
	return dst;
}

void *memset(void *dst, int c, size_t n)
{
	u8 *d = dst;
	u64 word = 0x0101010101010101ul * (u8)c;

	if (n >= 8 && n <= COPY_WORDS) {
		for (size_t i = 0; i + 8 < n; i += 8)
			*(any_u64 *)(d + i) = word;
		*(any_u64 *)(d + n - 8) = word;
	} else if (n < 8) {
		while (n--)
			d[n] = (u8)c;
	} else {
		arch_fill(d, (u8)c, n);
	}
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *p = a, *q = b;
	size_t i = 0;

	while (i + 8 <= n && *(const any_u64 *)(p + i) == *(const any_u64 *)(q + i))
		i += 8;
	for (; i < n; i++)
		if (p[i] != q[i])
			return p[i] - q[i];
	return 0;
}

void *memchr(const void *s, int c, size_t n)
{
	const u8 *p = s;

	for (; n; n--, p++)
		if (*p == (u8)c)
			return (void *)p;
	return NULL;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (u8)*a - (u8)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
	while (n && *a && *a == *b)
		a++, b++, n--;
	return n ? (u8)*a - (u8)*b : 0;
}

char *strchr(const char *s, int c)
{
	for (;; s++) {
		if (*s == (char)c)
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

char *strrchr(const char *s, int c)
{
	const char *found = NULL;

	for (;; s++) {
		if (*s == (char)c)
			found = s;
		if (!*s)
			return (char *)found;
	}
}

char *strstr(const char *haystack, const char *needle)
{
	size_t n = strlen(needle);

	for (; *haystack || !n; haystack++)
		if (!strncmp(haystack, needle, n))
			return (char *)haystack;
	return NULL;
}
