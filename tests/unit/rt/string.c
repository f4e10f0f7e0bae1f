/* rt/string.c against the C library, over all small sizes, alignments and overlaps. */
#include <stdlib.h>
#include "tests/unit/unit.h"

#define memcpy rt_memcpy
#define memmove rt_memmove
#define memset rt_memset
#define memcmp rt_memcmp
#define memchr rt_memchr
#define strlen rt_strlen
#define strnlen rt_strnlen
#define strcmp rt_strcmp
#define strncmp rt_strncmp
#define strchr rt_strchr
#define strrchr rt_strrchr
#define strstr rt_strstr
#include "rt/string.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef memchr
#undef strlen
#undef strnlen
#undef strcmp
#undef strncmp
#undef strchr
#undef strrchr
#undef strstr

#define ROOM 1024
static unsigned char original[ROOM], ours[ROOM], theirs[ROOM];

static void start(void)
{
	memcpy(ours, original, ROOM);
	memcpy(theirs, original, ROOM);
}

static void test_copies(void)
{
	for (size_t n = 0; n < 300; n++) {
		for (size_t shift = 0; shift < 9; shift++) {
			start();
			expect(rt_memcpy(ours + 512 + shift, ours + 3, n) == ours + 512 + shift);
			memcpy(theirs + 512 + shift, theirs + 3, n);
			expect(!memcmp(ours, theirs, ROOM));
			start();
			rt_memset(ours + shift, (int)n | 0x500, n);
			memset(theirs + shift, (int)n | 0x500, n);
			expect(!memcmp(ours, theirs, ROOM));
		}
	}
}

static void test_overlaps(void)
{
	static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, 127, 128, 129, 200};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (int shift = -140; shift <= 140; shift++) {
			start();
			expect(rt_memmove(ours + 300 + shift, ours + 300, sizes[i]) == ours + 300 + shift);
			memmove(theirs + 300 + shift, theirs + 300, sizes[i]);
			expect(!memcmp(ours, theirs, ROOM));
		}
	}
}

static int sign(int v)
{
	return v < 0 ? -1 : v > 0;
}

static void test_compares(void)
{
	for (size_t n = 0; n < 40; n++) {
		for (size_t at = 0; at < 40; at++) {
			start();
			ours[at] ^= 0x80;
			expect(sign(rt_memcmp(ours, theirs, n)) == sign(memcmp(ours, theirs, n)));
		}
	}
	expect(rt_strcmp("abc", "abc") == 0 && rt_strcmp("abc", "abd") < 0 && rt_strcmp("\xff", "a") > 0);
	expect(rt_strcmp("ab", "abc") < 0 && rt_strcmp("", "") == 0);
	expect(rt_strncmp("abcd", "abcx", 3) == 0 && rt_strncmp("abcd", "abcx", 4) < 0 && rt_strncmp("a", "b", 0) == 0);
}

static void test_searches(void)
{
	const char *s = "one two one";

	expect(rt_strlen(s) == 11 && rt_strlen("") == 0 && rt_strnlen(s, 4) == 4 && rt_strnlen(s, 40) == 11);
	expect(rt_strchr(s, 'o') == s && rt_strrchr(s, 'o') == s + 8 && !rt_strchr(s, 'x') && !rt_strrchr(s, 'x'));
	expect(rt_strchr(s, 0) == s + 11 && rt_strrchr(s, 0) == s + 11);
	expect(rt_strstr(s, "two") == s + 4 && rt_strstr(s, "") == s && !rt_strstr(s, "onee") &&
	       rt_strstr("", "") != NULL);
	expect(rt_memchr(s, 't', 11) == s + 4 && !rt_memchr(s, 't', 4) && rt_memchr("\xff", 0x1ff, 1) != NULL);
}

int main(void)
{
	for (size_t i = 0; i < ROOM; i++)
		original[i] = (unsigned char)(i * 7 + 3);
	test_copies();
	test_overlaps();
	test_compares();
	test_searches();
	return unit_result();
}
