/* rt_snprintf against the C library's snprintf, and number parsing. */
#include <errno.h>
#include <limits.h>
#include "rt/fmt.h"
#include "tests/unit/unit.h"

#pragma GCC diagnostic ignored "-Wformat" /* odd but defined flag combinations are the point here */
#pragma GCC diagnostic ignored "-Wformat-truncation"

#define same(...)                                                                                                      \
	do {                                                                                                           \
		char ours_[300], theirs_[300];                                                                         \
		expect_long(rt_snprintf(ours_, sizeof(ours_), __VA_ARGS__),                                            \
			    snprintf(theirs_, sizeof(theirs_), __VA_ARGS__));                                          \
		expect_str(ours_, theirs_);                                                                            \
	} while (0)

static void test_numbers(void)
{
	static const long values[] = {0, 1, -1, 9, 10, 255, -128, INT_MAX, INT_MIN, LONG_MAX, LONG_MIN};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		long v = values[i];

		same("%d|%5d|%-5d|%05d|%+d|% d|%.3d|%8.3d|%-8.3d|", (int)v, (int)v, (int)v, (int)v, (int)v, (int)v,
		     (int)v, (int)v, (int)v);
		same("%ld|%lld|%zd|%hd|%hhd|%30ld|%030ld", v, (long long)v, (size_t)v, (int)v, (int)v, v, v);
		same("%lu|%u|%hu|%hhu|%zu", v, (unsigned)v, (unsigned)v, (unsigned)v, (size_t)v);
		same("%lx|%#lx|%lX|%#lX|%016lx|%#018lx|%-20lx|%#20lx", v, v, v, v, v, v, v, v);
		same("%lo|%#lo|%.0lx|%.0ld|%08.3x|%#.5o", v, v, v, v, (unsigned)v, (unsigned)v);
	}
	same("%p", (void *)0x1234abcd);
	same("%*d|%-*d|%*d|%.*d|%.*d", 6, 42, 6, 42, -6, 42, 4, 42, -1, 42);
}

static void test_text(void)
{
	same("%s|%10s|%-10s|%.2s|%10.2s|%.*s|%.0s|", "hello", "hello", "hello", "hello", "hello", 3, "hello", "hello");
	same("%c|%3c|%-3c|%%|", 'a', 'b', 'c');
	same("plain");
	same("%s", "");
}

static void test_limits(void)
{
	char buf[8];

	memset(buf, 'x', sizeof(buf));
	expect_long(rt_snprintf(buf, 4, "%s", "abcdef"), 6);
	expect(!memcmp(buf, "abc\0xxxx", 8));
	expect_long(rt_snprintf(buf, 1, "%d", 123), 3);
	expect(buf[0] == 0);
	expect_long(rt_snprintf(NULL, 0, "%d", 123), 3);
	expect_long(rt_append(buf, sizeof(buf), 0, "%d", 12345), 5);
	expect_long(rt_append(buf, sizeof(buf), 5, "%s", "abc"), 7);
	expect_str(buf, "12345ab");
	expect_long(rt_append(buf, sizeof(buf), 7, "z"), 7);
	rt_snprintf(buf, sizeof(buf), "%y%");
	expect_str(buf, "%y%");
}

static void test_parsing(void)
{
	u64 v = 77;

	expect(!rt_parse_u64("0", &v) && v == 0);
	expect(!rt_parse_u64("18446744073709551615", &v) && v == ULONG_MAX);
	expect(!rt_parse_u64("0xFfffffffffffffff", &v) && v == ULONG_MAX);
	expect(!rt_parse_u64("0x10", &v) && v == 16);
	expect_long(rt_parse_u64("18446744073709551616", &v), -EINVAL);
	expect_long(rt_parse_u64("0x10000000000000000", &v), -EINVAL);
	expect_long(rt_parse_u64("", &v), -EINVAL);
	expect_long(rt_parse_u64("0x", &v), -EINVAL);
	expect_long(rt_parse_u64("12a", &v), -EINVAL);
	expect_long(rt_parse_u64("-1", &v), -EINVAL);
	expect(v == 16);
}

int main(void)
{
	test_numbers();
	test_text();
	test_limits();
	test_parsing();
	return unit_result();
}
